/** Waits until a component in a separate process serves. */
import type { ChildProcess } from 'node:child_process';

/** Its output, and when it serves. */
export interface Listening {
  /** All output so far. */
  said(): string;
  /** Resolves when its output reports that it serves; rejects with all output when it ends before. */
  readonly serving: Promise<void>;
}

/** Reads both outputs from now on, which must be pipes. */
export function listenTo(child: ChildProcess): Listening {
  const serving = Promise.withResolvers<void>();
  let said = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('Serving securely')) serving.resolve();
    });
  child.on('exit', (code) => serving.reject(new Error(`exit code ${code}: ${said}`)));
  return { said: () => said, serving: serving.promise };
}

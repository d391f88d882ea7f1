/** A component of its own process, until it serves. */
import type { ChildProcess } from 'node:child_process';

/** What it says, and when it serves. */
export interface Listening {
  /** All it has said so far. */
  said(): string;
  /** Resolves when it has said that it serves; rejects, with all it said, when it ends before. */
  readonly serving: Promise<void>;
}

/** Listens from now on to both outputs, which must be pipes. */
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

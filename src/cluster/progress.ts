/** Steps of a start-up with their durations, for the terminal, `--detach` and the log. */
import type { Platform } from '../platform/platform.ts';
import { callEach } from '../platform/unexpected.ts';
import type { ProgressLine } from './instance/control-protocol.ts';

/** Records steps; followers get all of them, also late followers. */
export interface Progress {
  phase<T>(name: string, work: () => T | Promise<T>): Promise<T>;
  finish(outcome: 'ready' | 'failed', error?: string): void;
  follow(listener: (line: ProgressLine) => void): () => void;
  /** Finished steps, milliseconds since the start. */
  lines(): readonly ProgressLine[];
}

export function createProgress({ clock, log }: Pick<Platform, 'clock' | 'log'>): Progress {
  const startedMs = clock.monotonicMs();
  const lines: ProgressLine[] = [];
  const listeners = new Set<(line: ProgressLine) => void>();
  const add = (line: Omit<ProgressLine, 'elapsedMs'>): void => {
    const full = { ...line, elapsedMs: clock.monotonicMs() - startedMs };
    lines.push(full);
    callEach({ log, what: 'a follower of the start threw' }, listeners, full);
  };
  return {
    async phase(name, work) {
      const result = await work();
      add({ phase: name, done: true });
      return result;
    },
    finish(outcome, error) {
      if (lines.at(-1)?.outcome !== undefined) return;
      add({ phase: outcome, done: outcome === 'ready', outcome, error });
    },
    follow(listener) {
      for (const line of lines) listener(line);
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    lines: () => lines,
  };
}

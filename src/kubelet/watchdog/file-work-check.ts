/**
 * Checks whether this process's file calls still return. They share a few threads with name lookups and cryptography, and a
 * call that never returns keeps its thread.
 */
import type { Clock } from '../../platform/clock.ts';
import type { Files } from '../../platform/files.ts';

const DEADLINE_MS = 5000;

export interface FileWorkCheck {
  /** Why file calls are unhealthy. Starts one call unless one is under way, so the next question knows of this moment. */
  problem(): string | undefined;
}

/** Makes a check whose calls go to `path`, which must not be able to hang by itself. */
export function createFileWorkCheck(
  { files, clock }: { readonly files: Pick<Files, 'lstat'>; readonly clock: Pick<Clock, 'monotonicMs'> },
  path: string,
): FileWorkCheck {
  let startedMs: number | undefined;
  const end = (): void => {
    startedMs = undefined;
  };
  return {
    problem() {
      const nowMs = clock.monotonicMs();
      if (startedMs === undefined) {
        startedMs = nowMs;
        // A file system that answers with an error answers.
        files.lstat(path).then(end, end);
        return undefined;
      }
      const waitedMs = nowMs - startedMs;
      if (waitedMs < DEADLINE_MS) return undefined;
      return `file work: a call has not returned for ${Math.floor(waitedMs / 1000)} s`;
    },
  };
}

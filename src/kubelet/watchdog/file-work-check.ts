/**
 * Checks whether this process's file calls still return. They share a few threads with name lookups and cryptography,
 * and a call that never returns blocks its thread.
 */
import type { Clock } from '../../platform/clock.ts';
import type { Files } from '../../platform/files.ts';

const DEADLINE_MS = 5000;

export interface FileWorkCheck {
  /** Why file calls are unhealthy. Starts a call unless one is in progress, whose result the next check reports. */
  problem(): string | undefined;
}

/** The calls go to `path`, whose own file system must not hang. */
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
        // An error is an answer too.
        files.lstat(path).then(end, end);
        return undefined;
      }
      const waitedMs = nowMs - startedMs;
      if (waitedMs < DEADLINE_MS) return undefined;
      return `file work: a call has not returned for ${Math.floor(waitedMs / 1000)} s`;
    },
  };
}

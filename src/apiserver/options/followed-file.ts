/**
 * The parsed content of a file that may change while the server runs. It is read again on demand when the last read
 * is a minute old: nothing runs without callers, and callers wait for a due read. An invalid file keeps the previous
 * value. Upstream: the reload of `--authentication-config` and `--authorization-config`, by a timer with the same
 * period.
 */
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';

const CHECK_PERIOD_MS = 60_000;

/** The file and how it is parsed. */
export interface FollowedFileDeps<T> {
  readonly clock: Clock;
  readonly log: Log;
  /** Name for the log: `the authentication configuration`. */
  readonly what: string;
  /** Reads the file. */
  readonly read: () => Promise<string>;
  /** Parses a text. Rejects when it is unusable. */
  readonly parse: (text: string) => Promise<T>;
}

/** The current value of a file. */
export interface FollowedFile<T> {
  /** The value, at most a minute old. Callers wait only while the file is being read. */
  now(): T | Promise<T>;
}

/** Follows a file from the given start value. */
export function followFile<T>(
  deps: FollowedFileDeps<T>,
  start: { readonly text: string; readonly value: T },
): FollowedFile<T> {
  const { clock, log, what } = deps;
  let { text, value } = start;
  let checkedMs = clock.monotonicMs();
  let checking: Promise<void> | undefined;
  const check = async (): Promise<void> => {
    try {
      const now = await deps.read();
      if (now === text) return;
      value = await deps.parse(now);
      text = now;
      log.info(`${what} was reloaded`);
    } catch (err) {
      log.error(`${what} cannot be used; the one before stays`, { err });
    }
  };
  const checkIfDue = (): void => {
    if (checking !== undefined || clock.monotonicMs() - checkedMs < CHECK_PERIOD_MS) return;
    checkedMs = clock.monotonicMs();
    checking = check().finally(() => (checking = undefined));
  };
  return {
    now() {
      checkIfDue();
      return checking === undefined ? value : checking.then(() => value);
    },
  };
}

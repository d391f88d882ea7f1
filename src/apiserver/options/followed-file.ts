/**
 * What a file says that may change while we run: it is looked at when somebody asks and the last look was a minute ago, so
 * that nothing need run while nobody comes; who asks when a look is due waits for it. A file that cannot be used leaves what was before. Upstream: the reload of
 * `--authentication-config` and `--authorization-config`, which look by themselves as often.
 */
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';

const LOOK_MS = 60_000;

/** What following a file needs. */
export interface FollowedFileDeps<T> {
  readonly clock: Clock;
  readonly log: Log;
  /** What it is, for the log: `the authentication configuration`. */
  readonly what: string;
  /** The file's text now. */
  readonly read: () => Promise<string>;
  /** What a text says. Rejects when it cannot be used. */
  readonly parse: (text: string) => Promise<T>;
}

/** What the file says. */
export interface FollowedFile<T> {
  /** As it said a minute ago at most: at once, but for who comes while it is looked at. */
  now(): T | Promise<T>;
}

/** Follows it from what it said at the start. */
export function followFile<T>(
  deps: FollowedFileDeps<T>,
  start: { readonly text: string; readonly value: T },
): FollowedFile<T> {
  const { clock, log, what } = deps;
  let { text, value } = start;
  let lookedMs = clock.monotonicMs();
  let looking: Promise<void> | undefined;
  const look = async (): Promise<void> => {
    try {
      const now = await deps.read();
      if (now === text) return;
      value = await deps.parse(now);
      text = now;
      log.info(`${what} was read again`);
    } catch (err) {
      log.error(`${what} cannot be used; the one before stays`, { err });
    }
  };
  const lookIfDue = (): void => {
    if (looking !== undefined || clock.monotonicMs() - lookedMs < LOOK_MS) return;
    lookedMs = clock.monotonicMs();
    looking = look().finally(() => (looking = undefined));
  };
  return {
    now() {
      lookIfDue();
      return looking === undefined ? value : looking.then(() => value);
    },
  };
}

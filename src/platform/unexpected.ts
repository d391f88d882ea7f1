/**
 * Boundaries: what is called from outside (timers, sockets, watchers, listeners) ends its own unit of work when it throws,
 * logged and counted by `Log.unexpected`. Upstream: runtime.HandleCrash, wait.Until.
 */
import type { Log, LogFields } from './log.ts';

/** Whether the program is at fault, not its input or what it calls. Only these count where any failure is tried again. */
export function isProgramError(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
}

/** Logs a failure that will be retried as a warning; a fault of the program is unexpected and counted. */
export function logFailure(log: Log | undefined, message: string, error: unknown): void {
  if (isProgramError(error)) log?.unexpected(message, error);
  else log?.warn(message, { err: error });
}

/** Logs a failed round of a loop as an error; a fault of the program is unexpected and counted. */
export function logFailedRound(log: Log, message: string, { err, ...fields }: LogFields): void {
  if (isProgramError(err)) log.unexpected(message, err, fields);
  else log.error(message, { err, ...fields });
}

/** The callback, whose throw goes to the log and no further. */
export function guarded<A extends unknown[]>(
  log: Log,
  what: string,
  callback: (...args: A) => void,
): (...args: A) => void {
  return (...args) => {
    try {
      callback(...args);
    } catch (error) {
      log.unexpected(what, error);
    }
  };
}

/** Calls every listener. An error of one reaches neither the others nor the caller. */
export function callEach<A extends unknown[]>(
  { log, what }: { readonly log: Log; readonly what: string },
  listeners: Iterable<(...args: A) => void>,
  ...args: A
): void {
  for (const listener of listeners) {
    try {
      listener(...args);
    } catch (error) {
      log.unexpected(what, error);
    }
  }
}

/** Runs work without awaiting it. An error that it has not handled is logged. */
export function background(log: Log, what: string, work: Promise<unknown>): void {
  work.catch((error: unknown) => log.unexpected(what, error));
}

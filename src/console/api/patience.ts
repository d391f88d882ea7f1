/** Repeats failed requests unless the server has refused them. */
import { ApiError } from './http.ts';
import { pause } from './pause.ts';

const RETRY_MS = [500, 1000, 2000, 5000, 10_000];

/** Waits before the next attempt, longer after more `failures`. */
export function pauseAfter(failures: number, signal: AbortSignal): Promise<void> {
  return pause(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]!, signal);
}

/**
 * Whether a failure is not shown: the first loss of a connection. Browsers drop all connections when an address of the machine is
 * added or removed; the next request succeeds.
 */
export function isBrief({ code }: ApiError, failuresBefore: number): boolean {
  return code === 0 && failuresBefore === 0;
}

/** Whether the same request would be refused again. */
export function isFinal({ code }: ApiError): boolean {
  return code >= 400 && code < 500 && code !== 410 && code !== 429;
}

/**
 * Repeats a read until it succeeds, across network changes and restarts of the server. Undefined when the server refuses it or
 * the signal aborts.
 */
export async function untilAnswered<T>(read: () => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (isFinal(error)) return undefined;
      await pauseAfter(failures, signal);
    }
  }
  return undefined;
}

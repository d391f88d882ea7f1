/** What is done after a request that failed: it is sent again unless the server has refused it. */
import { ApiError } from './http.ts';
import { pause } from './pause.ts';

const RETRY_MS = [500, 1000, 2000, 5000, 10_000];

/** Waits before the next try; `failures` came before this one. */
export function pauseAfter(failures: number, signal: AbortSignal): Promise<void> {
  return pause(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]!, signal);
}

/** Whether the same request would be refused again. */
export function isFinal({ code }: ApiError): boolean {
  return code >= 400 && code < 500 && code !== 410 && code !== 429;
}

/** The answer, whatever came between: a link that changes, a server that starts again. Undefined when the server refuses or the signal aborts. */
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

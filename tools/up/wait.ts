// Waits for a state by polling.
import { setTimeout as sleep } from 'node:timers/promises';

/** How to wait. `what` completes the sentence "timed out waiting for …". */
export interface WaitOptions {
  readonly what: string;
  readonly timeoutMs: number;
  readonly intervalMs?: number;
}

/**
 * Polls until the result is defined, and returns it. An error counts as "not yet".
 * @throws Error with what was awaited and the last error, at the timeout
 */
export async function waitFor<T>(ask: () => Promise<T | undefined>, options: WaitOptions): Promise<T> {
  const { what, timeoutMs, intervalMs = 50 } = options;
  const deadlineMs = performance.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined) return answer;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (performance.now() >= deadlineMs) {
      const reason = last instanceof Error ? `: ${last.message}` : '';
      throw new Error(`timed out after ${timeoutMs / 1000} s waiting for ${what}${reason}`);
    }
    await sleep(intervalMs);
  }
}

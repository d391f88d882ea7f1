/** Retrying read-modify-write on 409. Upstream: client-go util/retry.RetryOnConflict with DefaultRetry. */
import { isReason } from '../api/status-error.ts';
import type { Clock } from '../platform/clock.ts';

const STEPS = 5;
const DELAY_MS = 10;

/** Runs `attempt` (which must re-read the object) until it does not conflict, five times at most. */
export async function retryOnConflict<T>(clock: Clock, attempt: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let step = 1; ; step++) {
    try {
      return await attempt();
    } catch (error) {
      if (step >= STEPS || !isReason(error, 'Conflict')) throw error;
    }
    await clock.sleep(DELAY_MS, signal);
  }
}

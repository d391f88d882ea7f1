/** Times out requests. Upstream: server/filters.WithTimeoutForNonLongRunningRequests. */
import { timeout } from '../../api/status-error.ts';
import type { ApiResponse } from '../../api/transport.ts';
import type { Clock } from '../../platform/clock.ts';
import { recordRefusal } from '../refused-requests/refusal-source.ts';
import type { Filter } from './filter.ts';
import type { MaxInFlight } from './max-in-flight.ts';

export interface TimeoutFilterDeps {
  readonly clock: Clock;
  readonly inFlight: MaxInFlight;
}

/** Rejects with 504 at the timeout. Stepwise work ends at its next step; a write in flight may still be applied. */
export function withTimeout({ clock, inFlight }: TimeoutFilterDeps): Filter {
  return (handler) => (scope) => {
    const answer = handler(scope);
    const { timeoutMs } = scope;
    if (timeoutMs === undefined || !(answer instanceof Promise)) return answer;
    const slot = inFlight.waiting.add(scope);
    return new Promise<ApiResponse>((resolve, reject) => {
      let isOver = false;
      const end = (): void => {
        if (isOver) return;
        isOver = true;
        inFlight.waiting.remove(slot);
        cancel();
      };
      const cancel = clock.setTimer(timeoutMs - scope.waitedMs, () => {
        end();
        const error = timeout('request did not complete within requested timeout - context deadline exceeded');
        scope.timedOut = recordRefusal(error, { part: 'timeout' });
        reject(scope.timedOut);
      });
      answer.then(
        (response) => {
          end();
          resolve(response);
        },
        (error: unknown) => {
          end();
          reject(error);
        },
      );
    });
  };
}

/**
 * A request waits for its turn, and releases its slot when it is answered. Upstream: server/filters.WithPriorityAndFairness,
 * and WithMaxInFlightLimit where that is off. Requests of callers inside the process only count.
 */
import type { Clock } from '../../platform/clock.ts';
import type { FlowController } from '../flowcontrol/flow-controller.ts';
import type { RequestScope } from '../request-scope.ts';
import type { Answer, Filter, Handler } from './filter.ts';
import type { MaxInFlight } from './max-in-flight.ts';
import type { RequestSlot } from './request-slot.ts';

export interface FairnessFilterDeps {
  readonly clock: Clock;
  readonly inFlight: MaxInFlight;
  /** Absent: `inFlight` alone limits requests. */
  readonly fairness?: FlowController;
  readonly requestTimeoutMs: number;
}

/** The fraction of its time limit that a request may wait in a queue. As upstream. */
const WAIT_PART = 4;

/** Throws 429. */
export function withPriorityAndFairness(deps: FairnessFilterDeps): Filter {
  return (handler) => (scope) => {
    const fairness = scope.request.principal === undefined ? deps.fairness : undefined;
    const isLong = scope.timeoutMs === undefined;
    // A watch holds its seats while it begins; other long-running requests are not counted.
    if (isLong && (fairness === undefined || scope.info.verb !== 'watch')) return handler(scope);
    if (fairness === undefined) return inSlot(scope, deps.inFlight.enter(scope), handler);
    const slot = fairness.enter(scope, (scope.timeoutMs ?? deps.requestTimeoutMs) / WAIT_PART);
    if (!(slot instanceof Promise)) return inSlot(scope, slot, handler);
    const startMs = deps.clock.monotonicMs();
    return slot.then((later) => {
      if (!isLong) scope.waitedMs = deps.clock.monotonicMs() - startMs;
      return inSlot(scope, later, handler);
    });
  };
}

function inSlot(scope: RequestScope, slot: RequestSlot, handler: Handler): Answer {
  scope.slot = slot;
  let answer: Answer;
  try {
    answer = handler(scope);
  } catch (error) {
    slot.leave();
    throw error;
  }
  if (!(answer instanceof Promise)) {
    slot.leave();
    return answer;
  }
  // `finally` would make three promises more for each request.
  return answer.then(
    (response) => {
      slot.leave();
      return response;
    },
    (error: unknown) => {
      slot.leave();
      throw error;
    },
  );
}

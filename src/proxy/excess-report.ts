/**
 * Reports objects that exceed the limits of what is programmed for one object: in the log and by an event, once while
 * it lasts.
 */
import type { KubernetesObject } from '../api/object.ts';
import type { EventRecorder } from '../client/event-recorder.ts';
import type { Log } from '../platform/log.ts';

export interface ExcessReportDeps {
  readonly log: Log;
  /** Absent: only logged. */
  readonly recorder?: EventRecorder | undefined;
}

/** Reports an object's current version; undefined: it was deleted. */
export type ReportExcess = (key: string, object: KubernetesObject | undefined, excess: string | undefined) => void;

/** Makes a report for one kind. The reason is the event's. */
export function createExcessReport(
  { log, recorder }: ExcessReportDeps,
  reason: 'NetworkPolicyTooLarge' | 'ServiceTooLarge',
): ReportExcess {
  const reported = new Map<string, string>();
  return (key, object, excess) => {
    if (object === undefined || excess === undefined) {
      reported.delete(key);
      return;
    }
    if (reported.get(key) === excess) return;
    reported.set(key, excess);
    log.warn('an object asks for more than is programmed for one', { reason, key, why: excess });
    recorder?.event(object, 'Warning', reason, excess);
  };
}

/**
 * Measures the time from the trigger of an endpoint change, by the slices' annotation, until its rules are in the
 * kernel. Upstream: endpointslicecache.go and the trackers of pkg/proxy/endpointschangetracker.go.
 */
import { parseTime } from '../api/time.ts';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import type { Clock } from '../platform/clock.ts';
import type { ProxyMetrics } from './proxy-metrics.ts';
import { appendAll } from '../base/lists.ts';

const TRIGGER_TIME_ANNOTATION = 'endpoints.kubernetes.io/last-change-trigger-time';

/** Follows changes into the kernel. */
export interface ProgrammingLatencies {
  /** `before`: the replaced version; a change without a new trigger time is not measured again. */
  changed(slice: EndpointSlice, before?: EndpointSlice): void;
  /** The changes so far are part of the next transaction. */
  taken(): void;
  /** The transaction has succeeded. */
  applied(): void;
}

/** Changes triggered before this call are not measured, as no proxy ran. */
export function createProgrammingLatencies(
  clock: Clock,
  metrics: Pick<ProxyMetrics, 'programmed'>,
): ProgrammingLatencies {
  const sinceMs = clock.nowMs();
  let waiting: number[] = [];
  let inTransaction: number[] = [];
  return {
    changed({ metadata }, before) {
      const trigger = metadata.annotations?.[TRIGGER_TIME_ANNOTATION];
      if (trigger === undefined || trigger === before?.metadata.annotations?.[TRIGGER_TIME_ANNOTATION]) return;
      const triggeredMs = parseTime(trigger);
      if (triggeredMs > sinceMs) waiting.push(triggeredMs);
    },
    taken() {
      appendAll(inTransaction, waiting);
      waiting = [];
    },
    applied() {
      for (const triggeredMs of inTransaction) metrics.programmed((clock.nowMs() - triggeredMs) / 1000);
      inTransaction = [];
    },
  };
}

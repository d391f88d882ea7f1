/**
 * From what made endpoints change to rules that know it, as the annotation of the slices tells. Upstream:
 * endpointslicecache.go and the trackers of pkg/proxy/endpointschangetracker.go.
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
  /** What changed until now is in the next transaction. */
  taken(): void;
  /** A transaction is in the kernel. */
  applied(): void;
}

/** Changes that were triggered before this call happened while no proxy ran and are not measured. */
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

/**
 * How often a probe runs: `periodSeconds`, or the period of a pod annotation, down to 100 ms. The API knows whole
 * seconds only, which is long where a pod is to take traffic at once. No counterpart upstream; nothing changes without
 * the annotation. The probe's other seconds (delay, timeout) stay what they are.
 */
import type { Pod, Probe } from '../../api/gen/core-v1.ts';
import { parseDurationMs } from '../../api/duration.ts';
import type { ProbeType } from './results.ts';

/** Shorter periods are refused: a probe of each container at that rate is load enough. */
const MIN_PERIOD_MS = 100;

/** The annotation for probes of one type, with a duration such as `250ms`; it holds for all containers of the pod. */
function periodAnnotation(type: ProbeType): string {
  return `keelson.dev/${type}-probe-period`;
}

/** The period in milliseconds, and what is wrong with the annotation, which then counts for nothing. */
export function probePeriod(pod: Pod, type: ProbeType, spec: Probe): { periodMs: number; problem?: string } {
  const periodMs = Math.max(spec.periodSeconds ?? 10, 1) * 1000;
  const key = periodAnnotation(type);
  const text = pod.metadata.annotations?.[key];
  if (text === undefined) return { periodMs };
  const wanted = parseDurationMs(text);
  if (wanted !== undefined && wanted >= MIN_PERIOD_MS) return { periodMs: wanted };
  const why = wanted === undefined ? 'not a duration' : `less than ${MIN_PERIOD_MS}ms`;
  return { periodMs, problem: `annotation ${key}: ${JSON.stringify(text)} is ${why}; the period is ${periodMs}ms` };
}

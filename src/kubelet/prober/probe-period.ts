/**
 * The period of a probe: `periodSeconds`, or that of a pod annotation, down to 100 ms. The API has whole seconds
 * only, which is long for a pod that should receive traffic at once. Upstream has no counterpart; without the
 * annotation nothing changes. Delay and timeout stay in seconds.
 */
import type { Pod, Probe } from '../../api/gen/core-v1.ts';
import { parseDurationMs } from '../../api/duration.ts';
import type { ProbeType } from './results.ts';

/** The shortest period: faster probes of every container would be too much load. */
const MIN_PERIOD_MS = 100;

/** The annotation for probes of one type. Its value is a duration such as `250ms`, for all containers of the pod. */
function periodAnnotation(type: ProbeType): string {
  return `keelson.dev/${type}-probe-period`;
}

/** The period in milliseconds, and the error of an invalid annotation, which is then ignored. */
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

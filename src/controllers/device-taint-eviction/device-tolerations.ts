/** How long an allocated device tolerates a taint. Pure. Upstream: claimEvictionTime of devicetainteviction. */
import { minInt64, secondsToMs } from '../../api/int64.ts';
import type { DeviceRequestAllocationResult, DeviceTaint } from '../../api/gen/resource-v1.ts';
import { toleratesDeviceTaint } from '../../component-helpers/resource-claims.ts';

const NEVER = Number.POSITIVE_INFINITY;

/** Milliseconds that an allocation tolerates a taint: 0 not at all, Infinity for ever. */
export function deviceToleratedMs({ tolerations = [] }: DeviceRequestAllocationResult, taint: DeviceTaint): number {
  const bearing = tolerations.filter((toleration) => toleratesDeviceTaint(toleration, taint));
  if (bearing.length === 0) return 0;
  const limits = bearing.map(({ tolerationSeconds }) => tolerationSeconds).filter((seconds) => seconds !== undefined);
  return limits.length === 0 ? NEVER : Math.max(0, secondsToMs(limits.reduce(minInt64)));
}

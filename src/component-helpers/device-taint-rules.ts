/**
 * Device taints from DeviceTaintRules, computed alike for the scheduler and the eviction controller. Upstream:
 * dynamic-resource-allocation/resourceslice/tracker and ruleMatchesDevice of devicetainteviction.
 */
import type { Device, DeviceTaint, ResourceSlice } from '../api/gen/resource-v1.ts';
import type { DeviceTaintRule } from '../api/gen/resource-v1beta2.ts';

export interface DeviceName {
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
}

/** Whether the rule selects the device: an empty selector selects all devices, a missing one none. */
export function ruleSelects({ spec }: DeviceTaintRule, { driver, pool, device }: DeviceName): boolean {
  const selector = spec.deviceSelector;
  if (selector === undefined || selector === null) return false;
  return (
    (selector.driver ?? driver) === driver && (selector.pool ?? pool) === pool && (selector.device ?? device) === device
  );
}

/** The slices with the rules' taints added to their own; slices without a selected device are returned unchanged. */
export function withRuleTaints(
  slices: readonly ResourceSlice[],
  rules: readonly DeviceTaintRule[],
): readonly ResourceSlice[] {
  if (rules.length === 0) return slices;
  return slices.map((slice) => {
    const { driver, pool, devices = [] } = slice.spec;
    const taintsOf = ({ name }: Device): DeviceTaint[] =>
      rules
        .filter((rule) => ruleSelects(rule, { driver, pool: pool.name, device: name }))
        .map(({ spec }) => spec.taint);
    if (!devices.some((device) => taintsOf(device).length > 0)) return slice;
    const tainted = devices.map((device) => ({ ...device, taints: [...(device.taints ?? []), ...taintsOf(device)] }));
    return { ...slice, spec: { ...slice.spec, devices: tainted } };
  });
}

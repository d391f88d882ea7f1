/**
 * Sets the time at which device taints were added, unless the client did, in whole seconds, so that toleration
 * seconds are counted from a stored time. Upstream: SetDefaults_DeviceTaint of apis/resource, and PrepareForUpdate of
 * registry/resource/devicetaintrule. Differs: stored taints without a time do not get one at each read.
 */
import { formatTime } from '../../../api/time.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { KindRules } from '../kind-strategy.ts';

interface Taint {
  readonly effect?: string;
  readonly timeAdded?: string | undefined;
}

interface Device {
  readonly taints?: readonly Taint[];
  /** The taints of a device in v1beta1. */
  readonly basic?: { readonly taints?: readonly Taint[] };
}

type Slice = KubernetesObject & { spec?: { readonly devices?: readonly Device[] } };
type TaintRule = KubernetesObject & { spec?: { readonly taint?: Taint } };
type Prepares<T extends KubernetesObject> = Pick<KindRules<T>, 'prepareForCreate' | 'prepareForUpdate'>;

/** The rules of slices, in every version. */
export function sliceTaintRules(clock: Clock): Prepares<KubernetesObject> {
  const stamp = (draft: Slice): void => {
    const now = formatTime(clock.nowMs());
    if (draft.spec?.devices?.some(isBare))
      draft.spec = { ...draft.spec, devices: draft.spec.devices.map(stampedBy(now)) };
  };
  return { prepareForCreate: stamp, prepareForUpdate: stamp };
}

/** The rules of taint rules, in every version: a change of the effect sets the time again. */
export function taintRuleRules(clock: Clock): Prepares<KubernetesObject> {
  const stamp = (draft: TaintRule, old?: TaintRule): void => {
    const taint = draft.spec?.taint;
    if (taint === undefined || taint === null) return;
    const before = old?.spec?.taint;
    const isOther = before !== undefined && before.effect !== taint.effect && before.timeAdded === taint.timeAdded;
    if (hasTime(taint) && !isOther) return;
    draft.spec = { ...draft.spec, taint: { ...taint, timeAdded: formatTime(clock.nowMs()) } };
  };
  return { prepareForCreate: (draft) => stamp(draft), prepareForUpdate: (draft, old) => stamp(draft, old) };
}

function hasTime({ timeAdded }: Taint): boolean {
  return timeAdded !== undefined && timeAdded !== null;
}

function isBare({ taints, basic }: Device): boolean {
  return [...(taints ?? []), ...(basic?.taints ?? [])].some((taint) => !hasTime(taint));
}

function stampedBy(now: string): (device: Device) => Device {
  const stamped = <T extends { readonly taints?: readonly Taint[] }>(holder: T): T =>
    holder.taints === undefined || holder.taints === null
      ? holder
      : { ...holder, taints: holder.taints.map((taint) => (hasTime(taint) ? taint : { ...taint, timeAdded: now })) };
  return (device) => {
    const { basic } = device;
    return basic === undefined ? stamped(device) : { ...stamped(device), basic: stamped(basic) };
  };
}

/** From the chosen node to the bound pod: Reserve, Permit, PreBind, Bind, PostBind, with everything taken back on failure. Upstream: schedule_one.go (bindingCycle). */
import type { Pod } from '../api/gen/core-v1.ts';
import type { Extender } from './extenders/extender.ts';
import type { CycleState } from './framework/plugin.ts';
import type { Profile } from './framework/profile.ts';
import { failed, type Status } from './framework/status.ts';
import type { WaitingPods } from './framework/waiting-pods.ts';

/** What is to be bound. */
export interface BindingInput {
  readonly profile: Profile;
  readonly state: CycleState;
  readonly pod: Pod;
  readonly nodeName: string;
  readonly signal: AbortSignal;
  readonly waitingPods: WaitingPods;
  /** The extender that binds such pods. */
  readonly binder?: Extender;
}

/** Runs the Reserve point; on a rejection what was reserved is given back. */
export function reserve({ profile, state, pod, nodeName }: BindingInput): Status | undefined {
  for (const plugin of profile.points.reserve) {
    const status = plugin.reserve?.(state, pod, nodeName);
    if (status === undefined) continue;
    unreserve({ profile, state, pod, nodeName });
    return status;
  }
  return undefined;
}

/** Gives back, in reverse order. */
export function unreserve({
  profile,
  state,
  pod,
  nodeName,
}: Pick<BindingInput, 'profile' | 'state' | 'pod' | 'nodeName'>): void {
  for (const plugin of profile.points.reserve.toReversed()) plugin.unreserve?.(state, pod, nodeName);
}

/** Upstream's maxTimeout. */
const MAX_WAIT_MS = 900_000;

/** Runs the Permit point and waits for those plugins that say so. */
async function runPermit({
  profile,
  state,
  pod,
  nodeName,
  signal,
  waitingPods,
}: BindingInput): Promise<Status | undefined> {
  const timeouts = new Map<string, number>();
  for (const plugin of profile.points.permit) {
    const permit = plugin.permit?.(state, pod, nodeName);
    if (permit?.status === undefined) continue;
    if (permit.status.code !== 'wait') return permit.status;
    timeouts.set(plugin.name, Math.min(permit.timeoutMs ?? 0, MAX_WAIT_MS));
  }
  return timeouts.size === 0 ? undefined : waitingPods.wait(pod.metadata.uid ?? '', timeouts, signal);
}

/** Permit, PreBind, Bind and PostBind. */
export async function bind(input: BindingInput): Promise<Status | undefined> {
  const { profile, state, pod, nodeName, signal } = input;
  const refused = await runPermit(input);
  if (refused !== undefined) return refused;
  for (const plugin of profile.points.preBind) {
    const status = await plugin.preBind?.(state, pod, { nodeName, signal });
    if (status !== undefined) return status;
  }
  if (input.binder !== undefined) {
    const status = await input.binder.bind(pod, nodeName, signal);
    if (status === undefined) for (const after of profile.points.postBind) after.postBind?.(state, pod, nodeName);
    return status;
  }
  for (const plugin of profile.points.bind) {
    if (plugin.bind === undefined) continue;
    const status = await plugin.bind(state, pod, { nodeName, signal });
    if (status?.code === 'skip') continue;
    if (status !== undefined) return status;
    for (const after of profile.points.postBind) after.postBind?.(state, pod, nodeName);
    return undefined;
  }
  return failed('Bind', new Error('no bind plugin took the pod'));
}

/** From the chosen node to the bound pod: Reserve, Permit, PreBind, Bind, PostBind, with everything undone on failure. Upstream: schedule_one.go (bindingCycle). */
import type { Pod } from '../api/gen/core-v1.ts';
import type { Stored } from '../api/object.ts';
import type { StepScope } from '../component-helpers/pod-trace/step-scope.ts';
import type { Extender } from './extenders/extender.ts';
import type { CycleState, SchedulerPlugin } from './framework/plugin.ts';
import { timedCall, timedWait } from './framework/plugin-timer.ts';
import type { Profile } from './framework/profile.ts';
import { failed, type Status } from './framework/status.ts';
import type { WaitingPods } from './framework/waiting-pods.ts';

export interface BindingInput {
  readonly profile: Profile;
  readonly state: CycleState;
  readonly pod: Stored<Pod>;
  readonly nodeName: string;
  readonly signal: AbortSignal;
  readonly waitingPods: WaitingPods;
  readonly steps: StepScope;
  /** The extender that binds the pod; absent: the profile's Bind plugins do. */
  readonly binder?: Extender;
  /** Writes nominatedNodeName into the pod's status before a binding that takes time. Never fails. */
  nominate(): Promise<void>;
}

/** Runs the Reserve point; on a rejection, plugins that have reserved undo it. */
export function runReservePlugins(input: BindingInput): Status | undefined {
  return timeExtensionPoint(input.profile, 'Reserve', () => callReservePlugins(input));
}

function callReservePlugins({ profile, state, pod, nodeName }: BindingInput): Status | undefined {
  for (const plugin of profile.points.reserve) {
    const status = timedCall(state, { plugin: plugin.name, point: 'Reserve', statusOf: (outcome) => outcome }, () =>
      plugin.reserve?.(state, pod, nodeName),
    );
    if (status === undefined) continue;
    runUnreservePlugins({ profile, state, pod, nodeName });
    return status;
  }
  return undefined;
}

function timeExtensionPoint<T extends Status | undefined>({ timer }: Profile, point: string, run: () => T): T {
  if (timer === undefined) return run();
  const startedMs = timer.started();
  const status = run();
  timer.ended(point, startedMs, status);
  return status;
}

async function timeAsyncExtensionPoint({ timer }: Profile, point: string, run: () => Promise<Status | undefined>) {
  const startedMs = timer?.started() ?? 0;
  const status = await run();
  timer?.ended(point, startedMs, status);
  return status;
}

/** Calls Unreserve of the plugins in reverse order. */
export function runUnreservePlugins({
  profile,
  state,
  pod,
  nodeName,
}: Pick<BindingInput, 'profile' | 'state' | 'pod' | 'nodeName'>): void {
  for (const plugin of profile.points.reserve.toReversed())
    timedCall(state, { plugin: plugin.name, point: 'Unreserve' }, () => plugin.unreserve?.(state, pod, nodeName));
}

/** The longest that a pod waits at Permit. Upstream: maxTimeout. */
const MAX_WAIT_MS = 900_000;

/** Runs the Permit point: a refusal, or the plugins that wait, with their timeouts. */
function runPermitPlugins({ profile, state, pod, nodeName }: BindingInput): Status | Map<string, number> {
  const timeouts = new Map<string, number>();
  const startedMs = profile.timer?.started() ?? 0;
  for (const plugin of profile.points.permit) {
    const permit = timedCall(
      state,
      { plugin: plugin.name, point: 'Permit', statusOf: (outcome) => outcome?.status },
      () => plugin.permit?.(state, pod, nodeName),
    );
    if (permit?.status === undefined) continue;
    if (permit.status.code !== 'wait') return permit.status;
    timeouts.set(plugin.name, Math.min(permit.timeoutMs ?? 0, MAX_WAIT_MS));
  }
  profile.timer?.ended('Permit', startedMs);
  return timeouts;
}

/** Runs PreBindPreFlight: the plugins that have something to do in PreBind, or a refusal. */
function runPreBindPreFlights({ profile, state, pod, nodeName }: BindingInput): Status | SchedulerPlugin[] {
  const busy: SchedulerPlugin[] = [];
  for (const plugin of profile.points.preBind) {
    const status = timedCall(
      state,
      { plugin: plugin.name, point: 'PreBindPreFlight', statusOf: (outcome) => outcome },
      () => plugin.preBindPreFlight?.(state, pod, nodeName),
    );
    if (status === undefined) busy.push(plugin);
    else if (status.code !== 'skip') return status;
  }
  return busy;
}

/** Runs Permit, PreBind, Bind and PostBind. */
export async function bindingCycle(input: BindingInput): Promise<Status | undefined> {
  const { profile, state, pod, nodeName, signal, waitingPods, steps } = input;
  const waits = runPermitPlugins(input);
  if (!(waits instanceof Map)) return waits;
  const busy = runPreBindPreFlights(input);
  if (!Array.isArray(busy)) return busy;
  const permitted =
    waits.size === 0 ? undefined : steps.step('permit', () => waitingPods.wait(pod.metadata.uid, waits, signal));
  if (waits.size > 0 || busy.length > 0) await steps.step('nominate', () => input.nominate());
  const status =
    (await permitted) ??
    (await timeAsyncExtensionPoint(profile, 'PreBind', () =>
      busy.length === 0 ? Promise.resolve(undefined) : steps.step('pre-bind', () => runPreBindPlugins(input, busy)),
    )) ??
    (await timeAsyncExtensionPoint(profile, 'Bind', () => steps.step('bind', () => runBindPlugins(input))));
  if (status !== undefined) return status;
  timeExtensionPoint(profile, 'PostBind', () => {
    for (const after of profile.points.postBind)
      timedCall(state, { plugin: after.name, point: 'PostBind' }, () => after.postBind?.(state, pod, nodeName));
    return undefined;
  });
  return undefined;
}

async function runPreBindPlugins(
  { state, pod, nodeName, signal }: BindingInput,
  busy: readonly SchedulerPlugin[],
): Promise<Status | undefined> {
  for (const plugin of busy) {
    const status = await timedWait(state, { plugin: plugin.name, point: 'PreBind' }, () =>
      plugin.preBind?.(state, pod, { nodeName, signal }),
    );
    if (status !== undefined) return status;
  }
  return undefined;
}

async function runBindPlugins({
  profile,
  state,
  pod,
  nodeName,
  signal,
  binder,
}: BindingInput): Promise<Status | undefined> {
  if (binder !== undefined) return binder.bind(pod, nodeName, signal);
  for (const plugin of profile.points.bind) {
    if (plugin.bind === undefined) continue;
    const status = await timedWait(state, { plugin: plugin.name, point: 'Bind' }, () =>
      plugin.bind?.(state, pod, { nodeName, signal }),
    );
    if (status?.code !== 'skip') return status;
  }
  return failed('Bind', new Error('no bind plugin took the pod'));
}

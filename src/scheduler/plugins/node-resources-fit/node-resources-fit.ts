/**
 * NodeResourcesFit: the node must have enough cpu, memory, storage, extended resources and pod slots; by default the
 * least allocated node scores best. Upstream: noderesources/fit.go, least_allocated.go.
 */
import type { Node, Pod } from '../../../api/gen/core-v1.ts';
import { quantityValue } from '../../../api/quantity.ts';
import type { Stored } from '../../../api/object.ts';
import { amountsOf, podRequests, type ResourceAmounts } from '../../../component-helpers/pod-resources.ts';
import type { NodeInfo } from '../../cache/node-info.ts';
import { extendedClasses } from '../../framework/extended-classes.ts';
import { defaultArgs, type FitArgs } from '../../config/plugin-args.ts';
import type { CycleState, Lack, SchedulerPlugin } from '../../framework/plugin.ts';
import type { Status } from '../../framework/status.ts';
import { countDevices, mayBeDevices, type DeviceCounts, type DeviceLookups } from '../../devices/device-counts.ts';
import { deviceUseOf } from '../../devices/device-use.ts';
import { createResourceScorer } from './resource-scores.ts';

const NAME = 'NodeResourcesFit';
const DEVICES = `${NAME}/devices`;
const NO_DEVICES: DeviceLookups = {
  extendedResourceClass: () => undefined,
  deviceUse: () => deviceUseOf([]),
  resourceSlices: () => [],
};
/** The most verdicts kept: users choose the names of extended resources. */
const MAX_VERDICTS = 1000;

/** Resources that have a device class and that the node lacks are left to DynamicResources. */
export function createNodeResourcesFit(
  args: FitArgs = defaultArgs.fit,
  lookups: DeviceLookups = NO_DEVICES,
): SchedulerPlugin {
  const classOf = lookups.extendedResourceClass;
  const scored = args.resources.map(({ name }) => name);
  const scoresDevices = scored.some(mayBeDevices);
  const scorer = createResourceScorer(args);
  const verdicts = createVerdicts();
  const computePodResourceRequest = (pod: Stored<Pod>): PreFilterState => {
    const classes = extendedClasses(classOf, pod);
    return { wanted: withoutIgnored(podRequests(pod).requests, args), classes: classes.size > 0 ? classes : undefined };
  };
  return {
    name: NAME,
    nodeLocal: true,
    preFilter(state: CycleState, pod: Stored<Pod>) {
      state.set(NAME, computePodResourceRequest(pod));
      return undefined;
    },
    filter(state, pod, info) {
      const preFilterState = state.get(NAME) as PreFilterState | undefined;
      const all = preFilterState?.wanted ?? podRequests(pod).requests;
      const wanted = preFilterState?.classes === undefined ? all : withoutDevices(all, preFilterState.classes, info);
      if (fitsRequest(wanted, info)) return undefined;
      return verdicts.of(insufficientResources(wanted, info));
    },
    explain: (_state, pod, info) => lacksOf(podRequests(pod).requests, info),
    ...(scoresDevices && {
      scoresNeedMore: true,
      preScore: (state) => {
        state.set(DEVICES, countDevices(lookups, scored));
        return undefined;
      },
    }),
    score: (state, pod, info) =>
      scorer(pod, info, scoresDevices ? (state.get(DEVICES) as DeviceCounts | undefined) : undefined),
    events: [
      { event: 'assigned-pod/delete' },
      { event: 'assigned-pod/update', hint: (_pod, old, now) => isResizedDown(old as Stored<Pod>, now as Stored<Pod>) },
      {
        event: 'node/add',
        hint: (pod, _old, node) =>
          isSchedulableAfterNodeChange(computePodResourceRequest(pod), {}, node as Stored<Node>),
      },
      {
        event: 'node/update-allocatable',
        hint: (pod, old, node) =>
          isSchedulableAfterNodeChange(computePodResourceRequest(pod), old as Stored<Node>, node as Stored<Node>),
      },
      { event: 'device-class/add', hint: (pod) => extendedClasses(classOf, pod).size > 0 },
      { event: 'device-class/update', hint: (pod) => extendedClasses(classOf, pod).size > 0 },
      { event: 'pod/update', hint: (pod, old) => old === undefined || isResizedDown(old as Stored<Pod>, pod) },
    ],
  };
}

interface PreFilterState {
  readonly wanted: Readonly<ResourceAmounts>;
  /** Resources that have a device class; absent: none. */
  readonly classes?: ReadonlyMap<string, string>;
}

/** The requests without the resources that devices provide on the node. */
function withoutDevices(
  wanted: Readonly<ResourceAmounts>,
  classes: ReadonlyMap<string, string>,
  { allocatable }: NodeInfo,
): Readonly<ResourceAmounts> {
  const remaining = Object.entries(wanted.scalars ?? {}).filter(
    ([name]) => !classes.has(name) || (allocatable.scalars?.[name] ?? 0) > 0,
  );
  return { ...wanted, scalars: Object.fromEntries(remaining) };
}

/** The requests without the extended resources that the configuration ignores. */
function withoutIgnored(requests: Readonly<ResourceAmounts>, args: FitArgs): Readonly<ResourceAmounts> {
  const { ignoredResources, ignoredResourceGroups } = args;
  if (requests.scalars === undefined || ignoredResources.length + ignoredResourceGroups.length === 0) return requests;
  const remaining = Object.entries(requests.scalars).filter(
    ([name]) => !ignoredResources.includes(name) && !ignoredResourceGroups.includes(name.split('/')[0] ?? ''),
  );
  return { ...requests, scalars: Object.fromEntries(remaining) };
}

/** Returns one object for equal verdicts, as thousands of them are counted and kept. */
function createVerdicts(): { of(lacks: readonly { reason: string; never: boolean }[]): Status } {
  const verdictsByLack = new Map<string, Status>();
  return {
    of(lacks) {
      const never = lacks.some((lack) => lack.never);
      const key = lacks.reduce((text, { reason }) => `${text}|${reason}`, String(never));
      let status = verdictsByLack.get(key);
      if (status === undefined) {
        const reasons = lacks.map(({ reason }) => reason);
        status = { code: never ? 'unresolvable' : 'unschedulable', reasons, plugin: NAME };
        if (verdictsByLack.size < MAX_VERDICTS) verdictsByLack.set(key, status);
      }
      return status;
    },
  };
}

const NOTHING = {};
const sizes = new WeakMap<object, Readonly<ResourceAmounts>>();

/** Parsed once for each node object: one event may be compared with thousands of pending pods. */
function sizeOf(allocatable: Readonly<Record<string, string>> = NOTHING): Readonly<ResourceAmounts> {
  let size = sizes.get(allocatable);
  if (size === undefined) sizes.set(allocatable, (size = amountsOf(allocatable)));
  return size;
}

/**
 * Whether the node's capacity covers the requests at all, and has grown in a resource that the pod requests, in pod
 * slots, or in what it leaves to devices.
 */
function isSchedulableAfterNodeChange(
  { wanted, classes }: PreFilterState,
  old: Pick<Stored<Node>, 'status'>,
  { status }: Stored<Node>,
): boolean {
  const [before, now] = [sizeOf(old.status?.allocatable), sizeOf(status?.allocatable)];
  const slotsOf = (nodeStatus: Node['status']): number => quantityValue(nodeStatus?.allocatable?.['pods'] ?? '0');
  let grows = slotsOf(status) > slotsOf(old.status);
  for (const name of ['milliCpu', 'memoryBytes', 'ephemeralBytes'] as const) {
    if (wanted[name] > now[name]) return false;
    grows ||= wanted[name] > 0 && now[name] > before[name];
  }
  for (const [name, amount] of Object.entries(wanted.scalars ?? {})) {
    const [had, has] = [before.scalars?.[name] ?? 0, now.scalars?.[name] ?? 0];
    const toDevices = has === 0 && classes?.has(name) === true;
    if (amount > has && !toDevices) return false;
    grows ||= toDevices ? had > 0 : amount > 0 && has > had;
  }
  return grows;
}

/** Whether a pod was resized down, which frees resources. */
function isResizedDown(old: Stored<Pod>, now: Stored<Pod>): boolean {
  const [before, after] = [podRequests(old).requests, podRequests(now).requests];
  return (
    after.milliCpu < before.milliCpu ||
    after.memoryBytes < before.memoryBytes ||
    after.ephemeralBytes < before.ephemeralBytes
  );
}

/** The hot path: no allocations, no strings. */
function fitsRequest(wanted: ResourceAmounts, info: NodeInfo): boolean {
  const { allocatable, requested } = info;
  if (info.pods.size + 1 > info.allowedPods) return false;
  if (wanted.milliCpu > 0 && wanted.milliCpu > allocatable.milliCpu - requested.milliCpu) return false;
  if (wanted.memoryBytes > 0 && wanted.memoryBytes > allocatable.memoryBytes - requested.memoryBytes) return false;
  if (wanted.ephemeralBytes > 0 && wanted.ephemeralBytes > allocatable.ephemeralBytes - requested.ephemeralBytes)
    return false;
  if (wanted.scalars === undefined) return true;
  for (const name in wanted.scalars) {
    const amount = wanted.scalars[name] ?? 0;
    if (amount > 0 && amount > (allocatable.scalars?.[name] ?? 0) - (requested.scalars?.[name] ?? 0)) return false;
  }
  return true;
}

/** The insufficient resources, in upstream's words. `never`: the node's whole capacity is too small. */
function insufficientResources(wanted: ResourceAmounts, info: NodeInfo): { reason: string; never: boolean }[] {
  const { allocatable, requested } = info;
  const lacks: { reason: string; never: boolean }[] = [];
  if (info.pods.size + 1 > info.allowedPods) lacks.push({ reason: 'Too many pods', never: false });
  const check = (name: string, amount: number, { capacity, used }: { capacity: number; used: number }): void => {
    if (amount > 0 && amount > capacity - used)
      lacks.push({ reason: `Insufficient ${name}`, never: amount > capacity });
  };
  check('cpu', wanted.milliCpu, { capacity: allocatable.milliCpu, used: requested.milliCpu });
  check('memory', wanted.memoryBytes, { capacity: allocatable.memoryBytes, used: requested.memoryBytes });
  check('ephemeral-storage', wanted.ephemeralBytes, {
    capacity: allocatable.ephemeralBytes,
    used: requested.ephemeralBytes,
  });
  for (const [name, amount] of Object.entries(wanted.scalars ?? {}))
    check(name, amount, { capacity: allocatable.scalars?.[name] ?? 0, used: requested.scalars?.[name] ?? 0 });
  return lacks;
}

/** Cpu as manifests write it: `3`, `2500m`. */
function formatCores(milliCpu: number): string {
  return milliCpu % 1000 === 0 ? String(milliCpu / 1000) : `${milliCpu}m`;
}

/** Requested and free amounts, as readable text. */
function lacksOf(wanted: ResourceAmounts, { allocatable, requested, pods, allowedPods }: NodeInfo): Lack[] {
  const lacks: Lack[] = [];
  if (pods.size + 1 > allowedPods) lacks.push({ what: `${pods.size} of ${allowedPods} pods run here`, distance: 0.1 });
  const check = (name: string, amount: number, unit: { capacity: number; used: number; text: AmountText }): void => {
    const { capacity, used, text } = unit;
    if (amount <= 0 || amount <= capacity - used) return;
    const free = Math.max(0, capacity - used);
    lacks.push({
      what: `asks for ${text(amount)} ${name}, ${text(free)} of ${text(capacity)} are free`,
      distance: (amount - free) / amount,
    });
  };
  check('cpu', wanted.milliCpu, { capacity: allocatable.milliCpu, used: requested.milliCpu, text: formatCores });
  check('memory', wanted.memoryBytes, {
    capacity: allocatable.memoryBytes,
    used: requested.memoryBytes,
    text: formatMebibytes,
  });
  check('ephemeral-storage', wanted.ephemeralBytes, {
    capacity: allocatable.ephemeralBytes,
    used: requested.ephemeralBytes,
    text: formatMebibytes,
  });
  for (const [name, amount] of Object.entries(wanted.scalars ?? {}))
    check(name, amount, {
      capacity: allocatable.scalars?.[name] ?? 0,
      used: requested.scalars?.[name] ?? 0,
      text: String,
    });
  return lacks;
}

type AmountText = (amount: number) => string;

function formatMebibytes(bytes: number): string {
  return `${Math.round(bytes / 1_048_576)}Mi`;
}

/**
 * A pod's total requests: containers and sidecars together, or the largest init container if that is more, plus
 * overhead; during a resize the resources that a container still holds count; pod-level requests replace the sum
 * where they are set. Upstream: component-helpers/resource.PodRequests. Results are cached per pod object, which is
 * immutable.
 */
import { isRestartableInitContainer } from '../api/pod-containers.ts';
import type { Container, Pod, PodSpec } from '../api/gen/core-v1.ts';
import { quantityMilliValue, quantityValue } from '../api/quantity.ts';

/** Amounts of resources. Scalars are whole numbers of hugepages bytes or extended resources. */
export interface ResourceAmounts {
  milliCpu: number;
  memoryBytes: number;
  ephemeralBytes: number;
  /** Absent when there are none, as for most pods. */
  scalars?: Record<string, number>;
}

/** A pod's requests; `nonZero` has upstream's defaults for containers without requests (for scoring only). */
export interface PodRequests {
  readonly requests: Readonly<ResourceAmounts>;
  readonly nonZero: { readonly milliCpu: number; readonly memoryBytes: number };
}

/** Assumed for scoring where a container requests nothing. */
const DEFAULT_MILLI_CPU = 100;
const DEFAULT_MEMORY_BYTES = 200 * 1024 * 1024;

type RequestList = Readonly<Record<string, string>> | undefined;

const remembered = new WeakMap<Pod, PodRequests>();

/** Requests by spec, for pods whose status does not matter: versions that differ in their status share the spec. */
const rememberedOfSpecs = new WeakMap<PodSpec, PodRequests>();

/** The last pod: the scheduler asks for one pod at every node. */
let lastPod: Pod | undefined;
let lastFound: PodRequests | undefined;

export function podRequests(pod: Pod): PodRequests {
  if (pod === lastPod && lastFound !== undefined) return lastFound;
  let cached = remembered.get(pod);
  if (cached === undefined) remembered.set(pod, (cached = compute(pod)));
  lastPod = pod;
  lastFound = cached;
  return cached;
}

function compute(pod: Pod): PodRequests {
  const spec = pod.spec;
  if (spec === undefined) return { requests: emptyAmounts(), nonZero: { milliCpu: 0, memoryBytes: 0 } };
  const held = heldByContainers(pod);
  if (held !== undefined || holdsAsWhole(pod)) return requestsOf(spec, pod, held);
  let cached = rememberedOfSpecs.get(spec);
  if (cached === undefined) rememberedOfSpecs.set(spec, (cached = requestsOf(spec)));
  return cached;
}

/** Whether the node can never carry out the pod's pending resize. Upstream: IsPodResizeInfeasible. */
export function isResizeInfeasible({ status }: Pod): boolean {
  return (
    status?.conditions?.some(({ type, reason }) => type === 'PodResizePending' && reason === 'Infeasible') === true
  );
}

/** `held`: by containers of the pod. */
function requestsOf(spec: PodSpec, pod?: Pod, held?: ReadonlyMap<string, RequestLists>): PodRequests {
  // An infeasible resize reserves nothing.
  const never = pod !== undefined && isResizeInfeasible(pod);
  const wanted = (c: Container): RequestList =>
    never && held?.has(c.name) === true ? withoutResizable(c.resources?.requests) : c.resources?.requests;
  const podLevel = podLevelOf(spec, pod, never);
  const requests = total(spec, podLevel, (c) => withAllocatedResources(amountsOf(wanted(c)), held?.get(c.name)));
  const assumed = total(spec, podLevel, (c) =>
    withAllocatedResources(withDefaults(amountsOf(c.resources?.requests), c.resources?.requests), held?.get(c.name)),
  );
  return { requests, nonZero: { milliCpu: assumed.milliCpu, memoryBytes: assumed.memoryBytes } };
}

/**
 * CPU and memory that containers hold by their statuses during a resize: the larger of the allocated and the actual
 * resources. The room is not free until a resize down has been carried out. Upstream: UseStatusResources.
 */
function heldByContainers({ status }: Pod): ReadonlyMap<string, RequestLists> | undefined {
  let held: Map<string, RequestLists> | undefined;
  for (const list of [status?.containerStatuses, status?.initContainerStatuses]) {
    for (const { name, resources, allocatedResources } of list ?? []) {
      if (resources?.requests === undefined && allocatedResources === undefined) continue;
      (held ??= new Map()).set(name, [resources?.requests, allocatedResources]);
    }
  }
  return held;
}

type RequestLists = readonly RequestList[];

function withoutResizable(requests: RequestList): RequestList {
  const { cpu: _cpu, memory: _memory, ...rest } = requests ?? {};
  return rest;
}

function withAllocatedResources(amounts: ResourceAmounts, held: RequestLists | undefined): ResourceAmounts {
  for (const list of held ?? []) {
    const { milliCpu, memoryBytes } = amountsOf(list);
    amounts.milliCpu = Math.max(amounts.milliCpu, milliCpu);
    amounts.memoryBytes = Math.max(amounts.memoryBytes, memoryBytes);
  }
  return amounts;
}

function withDefaults(amounts: ResourceAmounts, requests: RequestList): ResourceAmounts {
  if (requests?.['cpu'] === undefined) amounts.milliCpu = DEFAULT_MILLI_CPU;
  if (requests?.['memory'] === undefined) amounts.memoryBytes = DEFAULT_MEMORY_BYTES;
  return amounts;
}

/** Whether the pod's status has pod-level resources. */
function holdsAsWhole({ spec, status }: Pod): boolean {
  return (
    spec?.resources?.requests !== undefined &&
    (status?.resources?.requests !== undefined || status?.allocatedResources !== undefined)
  );
}

/** The pod-level resources, which replace the sum of the containers; while it is resized the resources it still holds count. */
function podLevelOf({ resources }: PodSpec, pod: Pod | undefined, never: boolean): ResourceAmounts | undefined {
  const requests = resources?.requests;
  if (requests === undefined) return undefined;
  if (pod === undefined || !holdsAsWhole(pod)) return amountsOf(requests);
  const held = emptyAmounts();
  withAllocatedResources(held, [pod.status?.resources?.requests, pod.status?.allocatedResources]);
  // The pod's status includes the overhead, which the caller adds to the requests.
  const overhead = amountsOf(pod.spec?.overhead);
  const amounts = amountsOf(never ? withoutResizable(requests) : requests);
  amounts.milliCpu = Math.max(amounts.milliCpu, held.milliCpu - overhead.milliCpu);
  amounts.memoryBytes = Math.max(amounts.memoryBytes, held.memoryBytes - overhead.memoryBytes);
  return amounts;
}

function total(
  spec: PodSpec,
  podLevel: ResourceAmounts | undefined,
  amounts: (container: Container) => ResourceAmounts,
): ResourceAmounts {
  const sum = emptyAmounts();
  for (const container of spec.containers) addAmounts(sum, amounts(container));
  const sidecars = emptyAmounts();
  const init = emptyAmounts();
  for (const container of spec.initContainers ?? []) {
    const own = amounts(container);
    if (isRestartableInitContainer(container)) {
      addAmounts(sum, own);
      addAmounts(sidecars, own);
      maxAmounts(init, sidecars);
    } else {
      addAmounts(own, sidecars);
      maxAmounts(init, own);
    }
  }
  maxAmounts(sum, init);
  if (podLevel !== undefined) replaceWithPodLevel(sum, podLevel, spec.resources?.requests);
  addAmounts(sum, amountsOf(spec.overhead));
  return sum;
}

function replaceWithPodLevel(sum: ResourceAmounts, override: ResourceAmounts, named: RequestList): void {
  if (named?.['cpu'] !== undefined) sum.milliCpu = override.milliCpu;
  if (named?.['memory'] !== undefined) sum.memoryBytes = override.memoryBytes;
  if (override.scalars !== undefined) sum.scalars = { ...sum.scalars, ...override.scalars };
}

/** Amounts of a request, limit, capacity or allocatable list. */
export function amountsOf(list: RequestList): ResourceAmounts {
  const amounts = emptyAmounts();
  if (list === undefined) return amounts;
  for (const [name, quantity] of Object.entries(list)) {
    if (name === 'cpu') amounts.milliCpu = quantityMilliValue(quantity);
    else if (name === 'memory') amounts.memoryBytes = quantityValue(quantity);
    else if (name === 'ephemeral-storage') amounts.ephemeralBytes = quantityValue(quantity);
    else if (name !== 'pods') (amounts.scalars ??= {})[name] = quantityValue(quantity);
  }
  return amounts;
}

export function emptyAmounts(): ResourceAmounts {
  return { milliCpu: 0, memoryBytes: 0, ephemeralBytes: 0 };
}

/** Adds in place; a `sign` of -1 subtracts. */
export function addAmounts(to: ResourceAmounts, more: Readonly<ResourceAmounts>, sign: 1 | -1 = 1): void {
  to.milliCpu += sign * more.milliCpu;
  to.memoryBytes += sign * more.memoryBytes;
  to.ephemeralBytes += sign * more.ephemeralBytes;
  if (more.scalars === undefined) return;
  to.scalars ??= {};
  for (const [name, value] of Object.entries(more.scalars)) to.scalars[name] = (to.scalars[name] ?? 0) + sign * value;
}

function maxAmounts(to: ResourceAmounts, other: Readonly<ResourceAmounts>): void {
  to.milliCpu = Math.max(to.milliCpu, other.milliCpu);
  to.memoryBytes = Math.max(to.memoryBytes, other.memoryBytes);
  to.ephemeralBytes = Math.max(to.ephemeralBytes, other.ephemeralBytes);
  for (const [name, value] of Object.entries(other.scalars ?? {}))
    (to.scalars ??= {})[name] = Math.max(to.scalars[name] ?? 0, value);
}

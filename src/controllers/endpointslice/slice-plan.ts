/**
 * Distributes desired endpoints over EndpointSlices with few writes. Pure. Upstream: endpointslice
 * reconciler.reconcileByPortMapping.
 *
 * Slices keep the endpoints they hold; new endpoints go to slices that must be written anyway, the rest to one slice
 * with room for all of them, or to new slices. A Service without endpoints keeps one empty slice per address type.
 */
import { deepEqual } from '../../base/equal.ts';
import { getOrMake } from '../../base/get-or-make.ts';
import { StepMeter, type Steps } from '../../base/steps.ts';
import { Services } from '../../api/gen/resources.ts';
import type { Endpoint, EndpointPort, EndpointSlice } from '../../api/gen/discovery-v1.ts';
import type { Service } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { newControllerReference } from '../../component-helpers/owner-references.ts';
import { HEADLESS_LABEL, isServiceIpSet, TRIGGER_TIME_ANNOTATION } from '../service-endpoints.ts';
import { portsKey, type AddressType, type PortGroup } from './desired-endpoints.ts';
import { appendAll } from '../../base/lists.ts';

export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';
export const MANAGED_BY_LABEL = 'endpointslice.kubernetes.io/managed-by';
export const MANAGER = 'endpointslice-controller.k8s.io';
const MAX_ENDPOINTS_PER_SLICE = 100;
const RESERVED_LABELS = new Set([SERVICE_NAME_LABEL, MANAGED_BY_LABEL, HEADLESS_LABEL]);

export interface SlicePlan {
  readonly create: EndpointSlice[];
  readonly update: EndpointSlice[];
  readonly remove: EndpointSlice[];
}

/** The input of the plan, with the slices of one address type. */
export interface SlicePlanInput {
  readonly service: Stored<Service>;
  readonly type: AddressType;
  readonly existing: readonly EndpointSlice[];
  readonly groups: ReadonlyMap<string, PortGroup>;
  readonly triggerTime: string | undefined;
}

/** Labels of all slices of the Service. */
function sliceLabels(service: Stored<Service>): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [name, value] of Object.entries(service.metadata.labels ?? {})) {
    if (!RESERVED_LABELS.has(name)) labels[name] = value;
  }
  if (!isServiceIpSet(service)) labels[HEADLESS_LABEL] = '';
  labels[SERVICE_NAME_LABEL] = service.metadata.name;
  labels[MANAGED_BY_LABEL] = MANAGER;
  return labels;
}

/** Ports, endpoints and labels of slices that are compared in one step. */
const PARTS_PER_STEP = 5000;

/** Plans the writes for one address type. Slices of any size may claim to be the service's. */
export function* planSlices(input: SlicePlanInput): Steps<SlicePlan> {
  const plan: SlicePlan = { create: [], update: [], remove: [] };
  const meter = new StepMeter(PARTS_PER_STEP);
  // Slices of a deleted Service of this name are being garbage collected.
  const [own, strange] = [true, false].map((is) => input.existing.filter((slice) => isOwned(input, slice) === is));
  const byPorts = new Map<string, EndpointSlice[]>();
  for (const slice of own!) {
    getOrMake(byPorts, portsKey(slice.ports ?? []), () => []).push(slice);
    if (meter.endsStep(1 + (slice.ports ?? []).length)) yield;
  }
  for (const [key, group] of input.groups)
    yield* planGroup(input, plan, { group, slices: byPorts.get(key) ?? [], meter });
  const obsolete = [...byPorts].filter(([key]) => !input.groups.has(key)).flatMap(([, slices]) => slices);
  if (input.groups.size > 0) appendAll(plan.remove, obsolete);
  else planPlaceholder(input, plan, obsolete);
  const recycled = recycle(plan);
  appendAll(recycled.remove, strange!);
  return recycled;
}

function isOwned({ service }: SlicePlanInput, slice: EndpointSlice): boolean {
  return (slice.metadata.ownerReferences ?? []).some(
    ({ uid, kind, apiVersion }) => uid === service.metadata.uid && kind === 'Service' && apiVersion === 'v1',
  );
}

/** Slices to be deleted take the content of new ones: one write instead of two. */
function recycle({ create, update, remove }: SlicePlan): SlicePlan {
  const recycled = Math.min(create.length, remove.length);
  const refilled = remove.slice(0, recycled).map((slice, index) => {
    const { metadata, ports, endpoints } = create[index]!;
    const { labels, annotations } = metadata;
    const own = { ...slice.metadata, labels: labels ?? {}, annotations: annotations ?? {} };
    return { ...slice, metadata: own, ports: ports ?? [], endpoints };
  });
  return { create: create.slice(recycled), update: [...update, ...refilled], remove: remove.slice(recycled) };
}

function planPlaceholder(input: SlicePlanInput, plan: SlicePlan, slices: readonly EndpointSlice[]): void {
  const keep = slices.find((slice) => (slice.ports ?? []).length === 0) ?? slices[0];
  if (keep === undefined) plan.create.push(newSlice(input, { ports: [], endpoints: [] }));
  else {
    const next = withContent(input, keep, { ports: [], endpoints: [] });
    if (next !== keep) plan.update.push(next);
    appendAll(
      plan.remove,
      slices.filter((slice) => slice !== keep),
    );
  }
}

interface FilledSlice {
  readonly slice: EndpointSlice;
  readonly endpoints: Endpoint[];
  changed: boolean;
}

function* planGroup(
  input: SlicePlanInput,
  plan: SlicePlan,
  current: { readonly group: PortGroup; readonly slices: readonly EndpointSlice[]; readonly meter: StepMeter },
): Steps<void> {
  const wanted = new Map(current.group.endpoints.map((endpoint) => [identity(endpoint), endpoint]));
  const filled: FilledSlice[] = [];
  const labels = Object.keys(input.service.metadata.labels ?? {}).length;
  for (const slice of current.slices) {
    filled.push(keepWantedNodes(input, slice, wanted));
    const addresses = (slice.endpoints ?? []).reduce((sum, endpoint) => sum + endpoint.addresses.length, 0);
    if (current.meter.endsStep(1 + labels + addresses)) yield;
  }
  const left = [...wanted.values()];
  // Slices that must be written anyway are filled up, the fullest first; the rest stays together.
  const byFill = filled.toSorted((a, b) => b.endpoints.length - a.endpoints.length);
  for (const { endpoints } of byFill.filter(({ changed, endpoints: held }) => changed && held.length > 0))
    appendAll(endpoints, left.splice(0, MAX_ENDPOINTS_PER_SLICE - endpoints.length));
  const groups = Array.from({ length: Math.ceil(left.length / MAX_ENDPOINTS_PER_SLICE) }, () =>
    left.splice(0, MAX_ENDPOINTS_PER_SLICE),
  );
  for (const group of groups) {
    const fits = byFill.find((f) => !f.changed && f.endpoints.length + group.length <= MAX_ENDPOINTS_PER_SLICE);
    if (group.length === MAX_ENDPOINTS_PER_SLICE || fits === undefined) {
      plan.create.push(newSlice(input, { ports: current.group.ports, endpoints: group }));
      continue;
    }
    appendAll(fits.endpoints, group);
    fits.changed = true;
  }
  for (const { slice, endpoints, changed } of filled) {
    if (endpoints.length === 0) plan.remove.push(slice);
    else if (changed) plan.update.push(withContent(input, slice, { ports: current.group.ports, endpoints }));
  }
}

/** Removes the endpoints that the slice holds from `wanted`. */
function keepWantedNodes(input: SlicePlanInput, slice: EndpointSlice, wanted: Map<string, Endpoint>): FilledSlice {
  const endpoints: Endpoint[] = [];
  let changed = !deepEqual(slice.metadata.labels ?? {}, sliceLabels(input.service));
  for (const endpoint of slice.endpoints ?? []) {
    const key = identity(endpoint);
    const want = wanted.get(key);
    if (want === undefined) {
      changed = true;
      continue;
    }
    wanted.delete(key);
    endpoints.push(want);
    if (!deepEqual(endpoint, want)) changed = true;
  }
  return { slice, endpoints, changed };
}

function identity(endpoint: Endpoint): string {
  return JSON.stringify([endpoint.targetRef?.uid, endpoint.targetRef?.name, [...endpoint.addresses].sort()]);
}

interface Content {
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
}

function newSlice(input: SlicePlanInput, content: Content): EndpointSlice {
  const { service } = input;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      namespace: service.metadata.namespace,
      generateName: `${service.metadata.name}-`,
      labels: sliceLabels(service),
      ownerReferences: [newControllerReference(service, Services)],
      ...(input.triggerTime === undefined ? {} : { annotations: { [TRIGGER_TIME_ANNOTATION]: input.triggerTime } }),
    },
    addressType: input.type,
    endpoints: [...content.endpoints],
    ports: [...content.ports],
  };
}

/** The slice with this content; the same object when nothing changes. */
function withContent(input: SlicePlanInput, slice: EndpointSlice, content: Content): EndpointSlice {
  const labels = sliceLabels(input.service);
  const same =
    deepEqual(slice.endpoints ?? [], content.endpoints) && portsKey(slice.ports ?? []) === portsKey(content.ports);
  if (same && deepEqual(slice.metadata.labels ?? {}, labels)) return slice;
  const { [TRIGGER_TIME_ANNOTATION]: _, ...annotations } = slice.metadata.annotations ?? {};
  if (input.triggerTime !== undefined) annotations[TRIGGER_TIME_ANNOTATION] = input.triggerTime;
  return {
    ...slice,
    metadata: { ...slice.metadata, labels, annotations },
    endpoints: [...content.endpoints],
    ports: [...content.ports],
  };
}

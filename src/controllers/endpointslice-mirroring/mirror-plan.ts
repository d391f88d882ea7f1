/** The slices that mirror one Endpoints object. Pure. Upstream: endpointslicemirroring reconciler.go, utils.go. */
import { parseIp } from '../../base/cidr.ts';
import { deepEqual } from '../../base/equal.ts';
import { allSteps, type Steps } from '../../base/steps.ts';
import { stableStringify } from '../../base/stable-json.ts';
import { Endpoints as EndpointsInfo } from '../../api/gen/resources.ts';
import type {
  EndpointAddress,
  EndpointPort as EndpointPortV1,
  Endpoints,
  EndpointSubset,
} from '../../api/gen/core-v1.ts';
import type { Endpoint, EndpointPort, EndpointSlice } from '../../api/gen/discovery-v1.ts';
import type { Stored } from '../../api/object.ts';
import { newControllerReference } from '../../component-helpers/owner-references.ts';
import { SubsetPacker } from '../subset-packer.ts';

export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';
export const MANAGED_BY_LABEL = 'endpointslice.kubernetes.io/managed-by';
export const MANAGER = 'endpointslicemirroring-controller.k8s.io';
/** The most addresses of one subset that are mirrored. */
const MAX_PER_SUBSET = 1000;
const NOT_COPIED = [
  'endpoints.kubernetes.io/last-change-trigger-time',
  'kubectl.kubernetes.io/last-applied-configuration',
];

export interface MirrorPlan {
  readonly create: readonly EndpointSlice[];
  readonly update: readonly EndpointSlice[];
  readonly remove: readonly EndpointSlice[];
  /** Addresses left out. */
  readonly skipped: number;
}

/** {@link planMirrorSteps} without yields. */
export function planMirror(endpoints: Stored<Endpoints>, existing: readonly EndpointSlice[]): MirrorPlan {
  return allSteps(planMirrorSteps(endpoints, existing));
}

/** Subsets that are read or written into slices in one step. */
const SUBSETS_PER_STEP = 500;

/** Compares the existing slices with the desired ones: one for each set of ports and address family. */
export function* planMirrorSteps(endpoints: Stored<Endpoints>, existing: readonly EndpointSlice[]): Steps<MirrorPlan> {
  const wanted = new Map<string, EndpointSlice>();
  const { subsets, skipped: unread } = yield* packed(endpoints);
  let skipped = unread;
  for (const [index, subset] of subsets.entries()) {
    if (index % SUBSETS_PER_STEP === 0) yield;
    skipped += addSubset(endpoints, subset, wanted);
  }
  yield;
  const update: EndpointSlice[] = [];
  const remove: EndpointSlice[] = [];
  for (const slice of existing) {
    const key = keyOf(slice.addressType, slice.ports ?? []);
    const next = wanted.get(key);
    wanted.delete(key);
    if (next === undefined) remove.push(slice);
    else if (!sameContent(slice, next))
      update.push({ ...next, metadata: { ...slice.metadata, ...mirroredMetadata(next) } });
  }
  return { create: [...wanted.values()], update, remove, skipped };
}

/** The most pairs of address and port that are read: an object of 3 MiB can describe billions. */
const MAX_PAIRS = 100_000;

/**
 * Merges subsets: users may list one address in several subsets. Ports that are in the same subsets have the same
 * addresses, which are walked once for all of them.
 */
function* packed({ subsets = [] }: Endpoints): Steps<{ readonly subsets: EndpointSubset[]; readonly skipped: number }> {
  const places = new Map<string, { readonly port: EndpointPortV1 | undefined; readonly in: Set<number> }>();
  for (const [index, { ports = [] }] of subsets.entries())
    for (const port of ports.length === 0 ? [undefined] : ports) {
      const key = JSON.stringify(port ?? null);
      const place = places.get(key) ?? { port, in: new Set<number>() };
      place.in.add(index);
      places.set(key, place);
    }
  const packer = new SubsetPacker();
  let skipped = 0;
  let left = MAX_PAIRS;
  let groups = 0;
  for (const group of Map.groupBy(places.values(), (place) => [...place.in].join()).values()) {
    if (groups++ % SUBSETS_PER_STEP === 0) yield;
    const slot = packer.slot(group.map(({ port }) => port).filter((port) => port !== undefined));
    for (const index of group[0]!.in) {
      const { addresses = [], notReadyAddresses = [] } = subsets[index]!;
      if (addresses.length + notReadyAddresses.length > left) {
        skipped += addresses.length + notReadyAddresses.length;
        continue;
      }
      left -= addresses.length + notReadyAddresses.length;
      for (const address of addresses) packer.addTo(slot, address, true);
      for (const address of notReadyAddresses) packer.addTo(slot, address, false);
    }
  }
  yield;
  return { subsets: packer.subsets(), skipped };
}

function mirroredMetadata({
  metadata: { labels = {}, annotations = {}, ownerReferences = [] },
}: EndpointSlice): Pick<EndpointSlice['metadata'], 'labels' | 'annotations' | 'ownerReferences'> {
  return { labels, annotations, ownerReferences };
}

function sameContent(a: EndpointSlice, b: EndpointSlice): boolean {
  const meta = (slice: EndpointSlice) => [slice.metadata.labels ?? {}, slice.metadata.annotations ?? {}];
  return deepEqual(a.endpoints, b.endpoints) && deepEqual(meta(a), meta(b));
}

function keyOf(type: string, ports: readonly EndpointPort[]): string {
  return `${type} ${ports
    .map((port) => stableStringify(port))
    .sort()
    .join()}`;
}

function addSubset(endpoints: Stored<Endpoints>, subset: EndpointSubset, wanted: Map<string, EndpointSlice>): number {
  const ports = (subset.ports ?? []).map(({ name = '', port, protocol = 'TCP', appProtocol }): EndpointPort => ({
    name,
    port,
    protocol,
    ...(appProtocol === undefined ? {} : { appProtocol }),
  }));
  let added = 0;
  let skipped = 0;
  const slices = new Map<4 | 6, EndpointSlice>();
  const sliceOf = (family: 4 | 6): EndpointSlice => {
    const made = slices.get(family);
    if (made !== undefined) return made;
    const type = family === 6 ? 'IPv6' : 'IPv4';
    const key = keyOf(type, ports);
    const slice = wanted.get(key) ?? newSlice(endpoints, type, ports);
    slices.set(family, slice);
    wanted.set(key, slice);
    return slice;
  };
  const add = (address: EndpointAddress, ready: boolean): void => {
    const family = parseIp(address.ip)?.family;
    if (family === undefined) return;
    if (added >= MAX_PER_SUBSET) {
      skipped++;
      return;
    }
    added++;
    (sliceOf(family).endpoints ??= []).push(toEndpoint(address, ready));
  };
  for (const address of subset.addresses ?? []) add(address, true);
  for (const address of subset.notReadyAddresses ?? []) add(address, false);
  return skipped;
}

function toEndpoint({ ip, hostname, nodeName, targetRef }: EndpointAddress, ready: boolean): Endpoint {
  return {
    addresses: [ip],
    conditions: { ready },
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(targetRef === undefined ? {} : { targetRef }),
  };
}

function newSlice(endpoints: Stored<Endpoints>, addressType: string, ports: EndpointPort[]): EndpointSlice {
  const { name, namespace, labels, annotations } = endpoints.metadata;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      namespace,
      generateName: `${name}-`,
      labels: { ...labels, [SERVICE_NAME_LABEL]: name, [MANAGED_BY_LABEL]: MANAGER },
      annotations: Object.fromEntries(Object.entries(annotations ?? {}).filter(([key]) => !NOT_COPIED.includes(key))),
      ownerReferences: [newControllerReference(endpoints, EndpointsInfo)],
    },
    addressType,
    ports,
    endpoints: [],
  };
}

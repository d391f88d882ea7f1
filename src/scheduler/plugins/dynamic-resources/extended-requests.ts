/**
 * Turns containers' requests for extended resources into device requests. Containers that run at the same time get
 * separate devices. Init containers run before them, one after another: they use the same devices, and share further
 * ones if they need more. Pure. Upstream: createRequestsAndMappings in extendeddynamicresources.go.
 */
import type { Container, ContainerExtendedResourceRequest, Pod } from '../../../api/gen/core-v1.ts';
import type { DeviceRequest } from '../../../api/gen/resource-v1.ts';
import { quantityValue } from '../../../api/quantity.ts';
import type { Stored } from '../../../api/object.ts';
import { appendAll } from '../../../base/lists.ts';

/** The most requests of a claim. Upstream's: creating the claim would fail. */
const MAX_REQUESTS = 32;

/** The requests of one claim, and the containers that they are for. */
export interface ExtendedRequests {
  /** By name. */
  readonly requests: readonly DeviceRequest[];
  readonly mappings: readonly ContainerExtendedResourceRequest[];
}

interface ExtendedRequest {
  readonly name: string;
  readonly count: number;
}

interface ContainerPosition {
  readonly container: Container;
  /** Index among init containers and containers, in this order. */
  readonly at: number;
}

/** `classes`: the device class of each resource that devices must provide. */
export function extendedRequests(pod: Stored<Pod>, classes: ReadonlyMap<string, string>): ExtendedRequests {
  const requests: DeviceRequest[] = [];
  const mappings: ContainerExtendedResourceRequest[] = [];
  for (const [resourceName, deviceClassName] of [...classes].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const { requests: ofResource, uses } = requestsFor(pod, resourceName);
    for (const { name, count } of ofResource)
      requests.push({ name, exactly: { deviceClassName, allocationMode: 'ExactCount', count } });
    for (const { containerName, requestName } of uses) mappings.push({ containerName, resourceName, requestName });
  }
  return { requests: requests.toSorted((a, b) => (a.name < b.name ? -1 : 1)), mappings };
}

function requestsFor(
  { spec }: Stored<Pod>,
  resource: string,
): { requests: ExtendedRequest[]; uses: { containerName: string; requestName: string }[] } {
  const init = spec?.initContainers ?? [];
  const positions = [...init, ...(spec?.containers ?? [])].map((container, at): ContainerPosition => ({
    container,
    at,
  }));
  const isInitContainer = ({ container, at }: ContainerPosition): boolean =>
    at < init.length && container.restartPolicy !== 'Always';
  const longRunning = positions.map((position) =>
    isInitContainer(position) ? undefined : requestOf(position, resource, 0),
  );
  const requested = [...longRunning.entries()].filter(
    (entry): entry is [number, ExtendedRequest] => entry[1] !== undefined,
  );
  if (requested.length > MAX_REQUESTS)
    throw new Error(`more than ${MAX_REQUESTS} containers request ${resource}, which devices provide`);
  const uses = positions.flatMap(({ container, at }) => useOf(container, longRunning[at]));
  let shared: ExtendedRequest | undefined;
  const sharing = new Set<string>();
  const usesOfInit: { containerName: string; requestName: string }[] = [];
  for (const position of positions.filter(isInitContainer)) {
    const { container, at } = position;
    const wanted = amountOf(container, resource);
    let available = 0;
    for (const [laterAt, later] of requested) {
      if (laterAt < at || available >= wanted) continue;
      available += later.count;
      appendAll(usesOfInit, useOf(container, later));
    }
    const own = requestOf(position, resource, available);
    if (own === undefined) continue;
    sharing.add(own.name);
    if (shared === undefined || own.count > shared.count) shared = own;
    appendAll(usesOfInit, useOf(container, own));
  }
  const requests = [shared, ...longRunning].filter((request) => request !== undefined);
  // Init containers share one further request, of the size that the largest of them needs.
  const nameOf = (name: string): string => (shared !== undefined && sharing.has(name) ? shared.name : name);
  return { requests, uses: [...uses, ...usesOfInit.map((use) => ({ ...use, requestName: nameOf(use.requestName) }))] };
}

function useOf(
  { name }: Container,
  request: ExtendedRequest | undefined,
): { containerName: string; requestName: string }[] {
  return request === undefined ? [] : [{ containerName: name, requestName: request.name }];
}

function amountOf({ resources }: Container, resource: string): number {
  return quantityValue(resources?.requests?.[resource] ?? '0');
}

/**
 * The container's request beyond the devices it can already use. Its name is made of indexes, since container and
 * resource names may be too long.
 */
function requestOf({ container, at }: ContainerPosition, resource: string, has: number): ExtendedRequest | undefined {
  const count = amountOf(container, resource) - has;
  if (count <= 0) return undefined;
  const names = Object.keys(container.resources?.requests ?? {}).toSorted();
  return { name: `container-${at}-request-${names.indexOf(resource)}`, count };
}

/** Subsets of Endpoints from pods. Pure. Upstream: pkg/controller/endpoint. */
import { deepEqual } from '../../base/equal.ts';
import { StepMeter, type Steps } from '../../base/steps.ts';
import { stableStringify } from '../../base/stable-json.ts';
import { parseIp } from '../../base/cidr.ts';
import type { EndpointAddress, EndpointPort, EndpointSubset, Pod, Service } from '../../api/gen/core-v1.ts';
import { isPodReady } from '../../component-helpers/pods.ts';
import { SubsetPacker, type Slot } from '../subset-packer.ts';
import { canBeEndpoint, endpointHostname, podIpsOfFamily, podTargetRef } from '../service-endpoints.ts';
import { TargetPorts, type TargetPort } from '../target-ports.ts';

/** Addresses beyond this number are left out, not ready ones first. */
const MAX_ADDRESSES = 1000;

/** Whether the subsets are equal in any order: other writers may sort them differently. */
export function sameSubsets(
  a: readonly EndpointSubset[] | undefined = [],
  b: readonly EndpointSubset[] | undefined = [],
): boolean {
  if (deepEqual(a, b)) return true;
  return outlineOf(a) === outlineOf(b) && canonicalText(a) === canonicalText(b);
}

/**
 * The addresses as one text. Most differences show here, and a comparison of texts is fast for a thousand addresses.
 */
function outlineOf(subsets: readonly EndpointSubset[]): string {
  const ips = (list: readonly EndpointAddress[] = []): string =>
    list
      .map(({ ip }) => ip)
      .sort()
      .join();
  return subsets
    .map((s) => `${ips(s.addresses)} ${ips(s.notReadyAddresses)}`)
    .sort()
    .join(';');
}

function canonicalText(subsets: readonly EndpointSubset[]): string {
  const sorted = (list: readonly unknown[] | undefined): string[] => (list ?? []).map(stableStringify).sort();
  return JSON.stringify(
    subsets.map((s) => JSON.stringify([s.addresses, s.notReadyAddresses, s.ports].map(sorted))).sort(),
  );
}

/** The most pairs of pod and named port that are read: pods beyond them are left out. */
const MAX_PAIRS = 100_000;
/** Ports of pods that are looked at in one step. */
const PORTS_PER_STEP = 5000;

/** The subsets of a Service's pods, in canonical order, and whether addresses had to be left out. */
export function* subsetsOf(
  service: Service,
  pods: readonly Pod[],
): Steps<{ subsets: EndpointSubset[]; truncated: boolean }> {
  const packer = new SubsetPacker();
  const targets = new TargetPorts(service);
  const slots = new Map<string, Slot>();
  const slotOf = (key: string, ports: () => readonly TargetPort[]): Slot => {
    let slot = slots.get(key);
    if (slot === undefined) slots.set(key, (slot = packer.slot(ports().map(endpointPort))));
    return slot;
  };
  const hasFixed = targets.fixed.length > 0 || isPortless(service);
  const includeUnready = service.spec?.publishNotReadyAddresses === true;
  const family =
    service.spec?.ipFamilies?.[0] === 'IPv6' || parseIp(service.spec?.clusterIP ?? '')?.family === 6 ? 6 : 4;
  const meter = new StepMeter(PORTS_PER_STEP);
  let pairs = 0;
  for (const pod of pods) {
    const [ip] = podIpsOfFamily(pod, family);
    if (ip === undefined || !canBeEndpoint(pod, includeUnready)) continue;
    const address = addressOf(service, pod, ip);
    const ready = includeUnready || isPodReady(pod);
    if (hasFixed)
      packer.addTo(
        slotOf('', () => targets.fixed),
        address,
        ready,
      );
    const named = targets.named(pod);
    if (meter.endsStep(1 + targets.sizeOf(pod) + named.length)) yield;
    pairs += named.length;
    if (pairs > MAX_PAIRS) break;
    for (const { key, ports, number } of named)
      packer.addTo(
        slotOf(key, () => ports.map((port) => ({ port, number }))),
        address,
        ready,
      );
  }
  if (pairs > PORTS_PER_STEP) yield;
  const { subsets, truncated } = truncate(packer.subsets());
  return { subsets, truncated: truncated || pairs > MAX_PAIRS };
}

function addressOf(service: Service, pod: Pod, ip: string): EndpointAddress {
  const hostname = endpointHostname(pod, service);
  const nodeName = pod.spec?.nodeName;
  return {
    ip,
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    targetRef: podTargetRef(pod),
  };
}

/** A headless Service without ports still lists its addresses. */
function isPortless({ spec }: Service): boolean {
  return (spec?.ports ?? []).length === 0 && spec?.clusterIP === 'None';
}

function endpointPort({ port: { name, protocol = 'TCP', appProtocol }, number }: TargetPort): EndpointPort {
  return {
    ...(name === undefined ? {} : { name }),
    port: number,
    protocol,
    ...(appProtocol === undefined ? {} : { appProtocol }),
  };
}

function truncate(subsets: EndpointSubset[]): { subsets: EndpointSubset[]; truncated: boolean } {
  const count = (list: 'addresses' | 'notReadyAddresses'): number =>
    subsets.reduce((sum, subset) => sum + (subset[list]?.length ?? 0), 0);
  const ready = count('addresses');
  if (ready + count('notReadyAddresses') <= MAX_ADDRESSES) return { subsets, truncated: false };
  let readyLeft = Math.min(ready, MAX_ADDRESSES);
  let othersLeft = MAX_ADDRESSES - readyLeft;
  const cut = subsets.map((subset) => {
    const addresses = (subset.addresses ?? []).slice(0, readyLeft);
    const notReadyAddresses = (subset.notReadyAddresses ?? []).slice(0, othersLeft);
    readyLeft -= addresses.length;
    othersLeft -= notReadyAddresses.length;
    const { addresses: _, notReadyAddresses: __, ...rest } = subset;
    return {
      ...rest,
      ...(addresses.length === 0 ? {} : { addresses }),
      ...(notReadyAddresses.length === 0 ? {} : { notReadyAddresses }),
    };
  });
  return {
    subsets: cut.filter((subset) => subset.addresses !== undefined || subset.notReadyAddresses !== undefined),
    truncated: true,
  };
}

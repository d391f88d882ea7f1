/**
 * The usage of device claims in quotas: devices by class, and the extended resources that the classes stand for. When
 * a claim was made for a pod's extended resources, what the pod itself has counted is subtracted. Upstream:
 * pkg/quota/v1/evaluator/core/resource_claims.go.
 */
import type { ResourceClaim } from '../../api/gen/resource-v1.ts';
import { quantityValue } from '../../api/quantity.ts';
import type { Stored } from '../../api/object.ts';
import { controllerOf } from '../owner-references.ts';
import { DEVICE_CLASS_RESOURCES, EXTENDED_RESOURCE_CLAIM } from '../resource-claims.ts';
import type { QuotaEvaluator, QuotaLookups } from './evaluator.ts';
import { isExtendedResourceForQuota, podUsage } from './pod-evaluator.ts';
import type { Quantities } from './resource-lists.ts';

const DEVICES_SUFFIX = '.deviceclass.resource.k8s.io/devices';
const CLAIM_COUNT = 'count/resourceclaims.resource.k8s.io';
const REQUESTS = 'requests.';
/** A request for all devices of a class may be allocated up to this many. */
const MAX_ALLOCATED = 32;

export function createDeviceClaimEvaluator(lookups: QuotaLookups): QuotaEvaluator {
  // Made for one request or count: a quota has thousands of names, a cluster as many classes.
  let classResources: ReadonlySet<string | undefined> | undefined;
  const standsFor = (resource: string): boolean => {
    if (!isExtendedResourceForQuota(resource)) return false;
    classResources ??= new Set(
      lookups
        .deviceClasses()
        .flatMap(({ metadata, spec }) => [spec.extendedResourceName, `${DEVICE_CLASS_RESOURCES}${metadata.name}`]),
    );
    return classResources.has(resource);
  };
  return {
    measures: (name) =>
      name === CLAIM_COUNT ||
      name.endsWith(DEVICES_SUFFIX) ||
      (name.startsWith(REQUESTS) && standsFor(name.slice(REQUESTS.length))),
    usage(object, nowMs) {
      const claim = object as Stored<ResourceClaim>;
      const devices = devicesByClass(claim);
      const usage: Record<string, string> = { [CLAIM_COUNT]: '1' };
      for (const [name, count] of devices) usage[`${name}${DEVICES_SUFFIX}`] = String(count);
      const counted = countedByPod(lookups, claim, nowMs);
      for (const [resource, count] of resourcesOf(lookups, devices)) {
        const left = count - quantityValue(counted[`${REQUESTS}${resource}`] ?? '0');
        if (left > 0) usage[`${REQUESTS}${resource}`] = String(left);
      }
      return usage;
    },
    scope: () => false,
    constraints: () => undefined,
  };
}

/** Devices by class; the largest of a request's alternatives counts. */
function devicesByClass(claim: ResourceClaim): ReadonlyMap<string, number> {
  const devices = new Map<string, number>();
  for (const { exactly, firstAvailable = [] } of claim.spec?.devices?.requests ?? []) {
    const most = new Map<string, number>();
    for (const { deviceClassName, allocationMode, count = 1 } of exactly === undefined ? firstAvailable : [exactly]) {
      const wanted = allocationMode === 'All' ? MAX_ALLOCATED : Number(count);
      most.set(deviceClassName, Math.max(wanted, most.get(deviceClassName) ?? 0));
    }
    for (const [name, count] of most) devices.set(name, (devices.get(name) ?? 0) + count);
  }
  return devices;
}

/** The devices as the extended resources that their classes stand for, by both names. */
function resourcesOf(
  { deviceClasses }: QuotaLookups,
  devices: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const resources = new Map<string, number>();
  for (const [name, count] of devices) resources.set(`${DEVICE_CLASS_RESOURCES}${name}`, count);
  for (const { metadata, spec } of devices.size === 0 ? [] : deviceClasses()) {
    const count = devices.get(metadata.name ?? '');
    if (count !== undefined && (spec.extendedResourceName ?? '') !== '')
      resources.set(spec.extendedResourceName ?? '', count);
  }
  return resources;
}

/** The extended resources that the claim's pod has counted itself; only one claim of a pod may subtract them. */
function countedByPod(lookups: QuotaLookups, claim: Stored<ResourceClaim>, nowMs: number): Quantities {
  const { namespace, name } = claim.metadata;
  const owner = ownerOf(claim);
  if (owner === undefined) return {};
  const pod = lookups.pod(namespace, owner.name);
  if (pod?.metadata.uid !== owner.uid) return {};
  const claimStatus = pod.status?.extendedResourceClaimStatus;
  const isIt =
    claimStatus === undefined
      ? !lookups.resourceClaims(namespace).some((other) => ownerOf(other)?.uid === owner.uid && isOlder(other, claim))
      : claimStatus.resourceClaimName === name;
  return isIt ? podUsage(pod, nowMs) : {};
}

function ownerOf(claim: ResourceClaim): { readonly name: string; readonly uid: string } | undefined {
  if (claim.metadata.annotations?.[EXTENDED_RESOURCE_CLAIM] !== 'true') return undefined;
  const owner = controllerOf(claim);
  return owner?.kind === 'Pod' && owner.apiVersion === 'v1' ? owner : undefined;
}

/** Whether `a` was created before `b`; names decide within one second. */
function isOlder({ metadata: a }: ResourceClaim, { metadata: b }: ResourceClaim): boolean {
  const [bornA, bornB] = [a.creationTimestamp ?? '', b.creationTimestamp ?? ''];
  return bornA < bornB || (bornA === bornB && (a.name ?? '') < (b.name ?? ''));
}

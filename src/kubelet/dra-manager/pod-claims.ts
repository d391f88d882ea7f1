/** The resource claims of a pod and of its containers, and the record of a claim that is prepared. Pure. */
import { firstByName } from '../../base/first-by.ts';
import { getOrMake } from '../../base/get-or-make.ts';
import type { Container, Pod, PodResourceClaim } from '../../api/gen/core-v1.ts';
import type { ResourceClaim } from '../../api/gen/resource-v1.ts';
import { claimNameOf } from '../../component-helpers/resource-claims.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';
import { podName, podNamespace, podUid } from '../types/pod-update.ts';
import type { ClaimInfo } from './claim-info.ts';
import { type DraClaim, type DraDevice } from './dra-api.ts';

export const claimOf = ({ namespace, uid, name }: DraClaim): DraClaim => ({ namespace, uid, name });

/** The claim with the pod among those that use it. */
export function withPodReference(
  { metadata, status }: ResourceClaim,
  known: ClaimInfo | undefined,
  uid: string,
): ClaimInfo {
  const podUids = [...new Set([...(known?.podUids ?? []), uid])];
  if (known !== undefined) return { ...known, podUids };
  const names = new Set((status?.allocation?.devices?.results ?? []).map(({ driver }) => driver));
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    podUids,
    prepared: false,
    drivers: Object.fromEntries([...names].map((driver) => [driver, []])),
  };
}

/** Names of the pod's claims. Throws while one is not created yet. */
export function claimNames(pod: Pod): string[] {
  const extended = pod.status?.extendedResourceClaimStatus;
  const known = new Set(pod.status?.resourceClaimStatuses?.map(({ name }) => name));
  const own = (pod.spec?.resourceClaims ?? []).flatMap((podClaim) => {
    const name = claimNameOf(pod, podClaim);
    if (name !== undefined) return [name];
    // The status says that the template needed no claim.
    if (known.has(podClaim.name)) return [];
    throw new Error(`ResourceClaim not created yet for pod claim ${podClaim.name}`);
  });
  return extended === undefined ? own : [...own, extended.resourceClaimName];
}

const NO_CLAIMS: ReadonlyMap<string, PodResourceClaim> = new Map();
const podClaimsOf = new WeakMap<readonly PodResourceClaim[], ReadonlyMap<string, PodResourceClaim>>();

/** Each of thousands of containers may name one of thousands of claims. */
function claimsByName({ spec }: Pod): ReadonlyMap<string, PodResourceClaim> {
  const claims = spec?.resourceClaims;
  return claims === undefined ? NO_CLAIMS : getOrMake(podClaimsOf, claims, () => firstByName(claims));
}

/** The requests of the container: those it names, and those of its extended resources. */
export function containerClaimRequests(
  pod: Pod,
  { name, resources }: Container,
): { name: string; request: string | undefined }[] {
  const podClaims = resources?.claims === undefined ? NO_CLAIMS : claimsByName(pod);
  const named = (resources?.claims ?? []).flatMap(({ name: wanted, request }) => {
    const podClaim = podClaims.get(wanted);
    const claim = podClaim === undefined ? undefined : claimNameOf(pod, podClaim);
    return claim === undefined ? [] : [{ name: claim, request }];
  });
  const extended = pod.status?.extendedResourceClaimStatus;
  const ofContainer = extended?.requestMappings.filter(({ containerName }) => containerName === name) ?? [];
  return [
    ...named,
    ...ofContainer.map(({ requestName }) => ({ name: extended!.resourceClaimName, request: requestName })),
  ];
}

export function checkClaim(pod: Pod, { metadata, status }: ResourceClaim): void {
  const claim = `${metadata.namespace}/${metadata.name}`;
  const owner = controllerOf({ metadata });
  if (owner?.kind === 'Pod' && owner.uid !== podUid(pod))
    throw new Error(
      `ResourceClaim ${claim} was not created for pod ${podNamespace(pod)}/${podName(pod)} (pod is not owner)`,
    );
  if (status?.allocation === undefined) throw new Error(`ResourceClaim ${claim} is not allocated`);
  if (status.reservedFor?.some(({ uid }) => uid === podUid(pod)) !== true)
    throw new Error(
      `pod ${podName(pod)}(${podUid(pod)}) is not allowed to use resource claim ${metadata.name}(${metadata.uid})`,
    );
}

/** A device without request names belongs to all requests. */
export function belongsToRequest({ requestNames }: DraDevice, request: string | undefined): boolean {
  if (request === undefined || request === '' || requestNames.length === 0) return true;
  return requestNames.some((name) => name === request || name.split('/')[0] === request);
}

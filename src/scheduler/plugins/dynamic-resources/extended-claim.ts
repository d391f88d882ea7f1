/**
 * Extended resources (`example.com/gpu: 1`) that have a device class: on nodes without a device plugin for them,
 * devices are allocated in a claim that the scheduler creates for the pod. Until the pod has a node the claim is in
 * memory only. Upstream: plugins/dynamicresources/extendeddynamicresources.go (gate DRAExtendedResource, on in
 * v1.36).
 *
 * Differs: the claim of a failed attempt is reused where it fits and deleted only when no node fits; upstream always
 * deletes it.
 */
import type { ContainerExtendedResourceRequest, Pod } from '../../../api/gen/core-v1.ts';
import type { ResourceClaim } from '../../../api/gen/resource-v1.ts';
import { Pods, ResourceClaims } from '../../../api/gen/resources.ts';
import { isReason } from '../../../api/status-error.ts';
import type { Stored } from '../../../api/object.ts';
import type { Client } from '../../../client/client.ts';
import { deepEqual } from '../../../base/equal.ts';
import { someTermMatches } from '../../../component-helpers/node-affinity.ts';
import { podRequests } from '../../../component-helpers/pod-resources.ts';
import { CLAIM_FINALIZER, EXTENDED_RESOURCE_CLAIM } from '../../../component-helpers/resource-claims.ts';
import type { NodeInfo } from '../../cache/node-info.ts';
import { extendedClasses } from '../../framework/extended-classes.ts';
import type { ClusterObjects, DeviceMetrics } from '../../framework/plugin-deps.ts';
import { wantedClaim, type WantedClaim } from './claim-requests.ts';
import { extendedRequests } from './extended-requests.ts';

/** The extended resources of a cycle's pod. */
export interface ExtendedResources {
  /** The pod's extended resources that have a device class, with the class's name. */
  readonly classes: ReadonlyMap<string, string>;
  /** The claim that an earlier attempt created. */
  readonly left: ResourceClaim | undefined;
  /** By the names of the resources that devices must provide on a node. */
  readonly wants: Map<string, ExtendedWant>;
}

/** The extended resources that a node must provide in devices. */
export interface ExtendedWant {
  readonly wanted: WantedClaim;
  readonly mappings: readonly ContainerExtendedResourceRequest[];
}

/** Where claims and classes are looked up. */
export type ExtendedDeps = Pick<ClusterObjects, 'extendedClaimOf' | 'deviceClass' | 'extendedResourceClass'>;

/** Undefined for most pods: none of their resources has a device class, and no earlier attempt created a claim. */
export function findExtendedResources(deps: ExtendedDeps, pod: Stored<Pod>): ExtendedResources | undefined {
  if (podRequests(pod).requests.scalars === undefined) return undefined;
  const classes = extendedClasses(deps.extendedResourceClass, pod);
  const left = deps.extendedClaimOf(pod);
  return classes.size === 0 && left === undefined ? undefined : { classes, left, wants: new Map() };
}

/**
 * The requests for devices on the node; undefined: device plugins provide all. Throws when a class's selector does
 * not compile.
 */
export function extendedClaimFor(
  deps: ExtendedDeps,
  { classes, wants, left }: ExtendedResources,
  { pod, node }: { readonly pod: Stored<Pod>; readonly node: NodeInfo },
): ExtendedWant | undefined {
  const names = [...classes.keys()].filter((name) => (node.allocatable.scalars?.[name] ?? 0) === 0);
  if (names.length === 0) return undefined;
  const key = names.join();
  let want = wants.get(key);
  if (want === undefined) {
    const { requests, mappings } = extendedRequests(
      pod,
      new Map([...classes].filter(([name]) => names.includes(name))),
    );
    const claim: ResourceClaim = {
      metadata: { namespace: pod.metadata.namespace, name: '<extended-resources>', uid: uidInMemory(pod) },
      ...left,
      spec: { devices: { requests: [...requests] } },
    };
    want = { wanted: wantedClaim(claim, deps.deviceClass), mappings };
    wants.set(key, want);
  }
  return want;
}

/** Whether the claim of an earlier attempt does not fit the node: its requests differ, or it is allocated elsewhere. */
export function isUnusableClaim(
  { left }: ExtendedResources,
  want: ExtendedWant | undefined,
  { node }: NodeInfo,
): boolean {
  if (left === undefined) return false;
  if (want === undefined || !deepEqual(left.spec.devices?.requests, want.wanted.claim.spec.devices?.requests))
    return true;
  const terms = left.status?.allocation?.nodeSelector?.nodeSelectorTerms;
  return terms !== undefined && !someTermMatches(terms, node);
}

/** The claim's uid before it is written. */
function uidInMemory({ metadata }: Stored<Pod>): string {
  return `extended-resources-of-${metadata.uid}`;
}

/** Creates the claim, unless an earlier attempt did. Its allocation is written in the next step. */
export async function writeExtendedClaim(
  { client, deviceMetrics }: { readonly client: Client; readonly deviceMetrics: DeviceMetrics },
  { pod, want }: { readonly pod: Stored<Pod>; readonly want: ExtendedWant },
  signal: AbortSignal,
): Promise<ResourceClaim> {
  const { claim } = want.wanted;
  const { name, namespace, uid } = pod.metadata;
  if (claim.metadata.uid !== uidInMemory(pod)) return claim;
  const creating = client.resource(ResourceClaims).create(
    {
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceClaim',
      metadata: {
        namespace,
        generateName: `${name}-extended-resources-`,
        annotations: { [EXTENDED_RESOURCE_CLAIM]: 'true' },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid, controller: true }],
      },
      spec: claim.spec,
    },
    { signal },
  );
  return creating.then(
    (created) => {
      deviceMetrics.claimCreated('success');
      return created;
    },
    (error: unknown) => {
      deviceMetrics.claimCreated('failure');
      throw error;
    },
  );
}

/** Writes into the pod's status which devices of the claim are for which container; the kubelet reads it. */
export async function writeMappings(
  client: Client,
  mapping: { readonly pod: Stored<Pod>; readonly want: ExtendedWant; readonly claim: ResourceClaim },
  signal: AbortSignal,
): Promise<void> {
  const extendedResourceClaimStatus = {
    requestMappings: [...mapping.want.mappings],
    resourceClaimName: mapping.claim.metadata.name ?? '',
  };
  await patchStatus(client, { pod: mapping.pod, status: { extendedResourceClaimStatus } }, signal);
}

/** Removes the mappings of a failed attempt from the pod's status: the kubelet would wait for a deleted claim. */
export async function removeMappings(client: Client, pod: Stored<Pod>, signal: AbortSignal): Promise<void> {
  if (pod.status?.extendedResourceClaimStatus === undefined) return;
  await patchStatus(client, { pod, status: { extendedResourceClaimStatus: null } }, signal);
}

async function patchStatus(
  client: Client,
  { pod, status }: { readonly pod: Stored<Pod>; readonly status: Readonly<Record<string, unknown>> },
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace, uid } = pod.metadata;
  const patch = { metadata: { uid }, status };
  await client.resource(Pods).patch({ namespace, name }, { type: 'merge', patch }, { subresource: 'status', signal });
}

/** Deletes the claim of a failed attempt: its allocation would exclude other nodes. NotFound is no error. */
export async function removeExtendedClaim(client: Client, { metadata }: ResourceClaim): Promise<void> {
  const { name = '', namespace = '', uid } = metadata;
  const claims = client.resource(ResourceClaims);
  try {
    const now = await claims.get({ namespace, name });
    if (now.metadata.uid !== uid) return;
    const finalizers = (now.metadata.finalizers ?? []).filter((each) => each !== CLAIM_FINALIZER);
    if (finalizers.length < (now.metadata.finalizers ?? []).length) {
      const patch = { metadata: { uid, resourceVersion: now.metadata.resourceVersion, finalizers } };
      await claims.patch({ namespace, name }, { type: 'merge', patch });
    }
    await claims.delete({ namespace, name }, uid === undefined ? {} : { preconditions: { uid } });
  } catch (error) {
    if (!isReason(error, 'NotFound')) throw error;
  }
}

/**
 * The total number of pods that the owners of some pods desire. Upstream: disruption.go getExpectedScale and its
 * finders.
 */
import { Deployments, ReplicaSets, ReplicationControllers, StatefulSets } from '../../api/gen/resources.ts';
import type { OwnerReference } from '../../api/gen/meta-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import { apiVersionOf, groupResourceOf, type ResourceInfo } from '../../api/resource-info.ts';
import { isReason } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';
import { discoverResources } from '../../client/discovery.ts';
import type { Informer } from '../../client/informer.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';

type Sized = KubernetesObject & { readonly spec?: { readonly replicas?: number } };

export interface ScaleDeps {
  readonly client: Client;
  readonly owners: readonly Informer<Sized>[];
}

/** Kinds whose scale is read from informers. */
export const SIZED_KINDS = [
  Deployments,
  ReplicaSets,
  ReplicationControllers,
  StatefulSets,
] as readonly ResourceInfo<Sized>[];

/** The sum over all owners, each counted once, and the pods without an owner. Rejects when an owner has no scale. */
export async function expectedScale(
  deps: ScaleDeps,
  pods: readonly Stored<Pod>[],
  signal: AbortSignal,
): Promise<{ readonly expected: number; readonly unmanaged: readonly Pod[] }> {
  const sizes = new Map<string, number>();
  const counted = new Set<string>();
  const unmanaged: Pod[] = [];
  for (const pod of pods) {
    const reference = controllerOf(pod);
    if (reference === undefined) {
      unmanaged.push(pod);
      continue;
    }
    if (counted.has(reference.uid)) continue;
    const owner = await sizeOf(deps, pod.metadata.namespace, { reference, signal });
    if (owner === undefined) throw new Error(`found no controllers for pod ${JSON.stringify(pod.metadata.name)}`);
    counted.add(reference.uid);
    sizes.set(owner.uid, owner.size);
  }
  return { expected: [...sizes.values()].reduce((sum, size) => sum + size, 0), unmanaged };
}

interface ScaleRequest {
  readonly reference: OwnerReference;
  readonly signal: AbortSignal;
}

async function sizeOf(
  deps: ScaleDeps,
  namespace: string,
  { reference, signal }: ScaleRequest,
): Promise<{ uid: string; size: number } | undefined> {
  const informer = deps.owners.find(({ info }) => isOfKind(reference, info));
  if (informer === undefined) return await sizeByScale(deps, namespace, { reference, signal });
  const owner = informer.get({ namespace, name: reference.name });
  if (owner?.metadata.uid !== reference.uid) return undefined;
  const above = controllerOf(owner);
  // A ReplicaSet of a Deployment: the Deployment's replicas count, whatever the state of its rollout.
  if (above?.kind === 'Deployment') return await sizeOf(deps, namespace, { reference: above, signal });
  return { uid: reference.uid, size: owner.spec?.replicas ?? 1 };
}

/**
 * In any version, as old references have old versions. All kinds of `apps` but StatefulSets were in `extensions`
 * before.
 */
function isOfKind({ apiVersion, kind }: OwnerReference, info: ResourceInfo): boolean {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
  const moved = group === 'extensions' && info.group === 'apps' && kind !== 'StatefulSet';
  return kind === info.kind && (group === info.group || moved);
}

async function sizeByScale(
  { client }: ScaleDeps,
  namespace: string,
  { reference, signal }: ScaleRequest,
): Promise<{ uid: string; size: number } | undefined> {
  const { resources } = await discoverResources(client, signal);
  const info = resources.find((r) => r.kind === reference.kind && apiVersionOf(r) === reference.apiVersion);
  if (info === undefined || !info.subresources.some((sub) => sub.name === 'scale')) {
    throw new Error(
      `${info === undefined ? reference.kind : groupResourceOf(info)} does not implement the scale subresource`,
    );
  }
  try {
    const scale = await client
      .resource(info as ResourceInfo<KubernetesObject>)
      .getSubresource<Sized>({ namespace, name: reference.name }, 'scale', { signal });
    return scale.metadata.uid === reference.uid ? { uid: reference.uid, size: scale.spec?.replicas ?? 0 } : undefined;
  } catch (error) {
    if (isReason(error, 'NotFound')) return undefined;
    throw error;
  }
}

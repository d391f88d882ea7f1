/**
 * Deletes everything in a namespace: one round over all deletable resources that the server serves. Upstream:
 * controller/namespace/deletion.
 *
 * Pods are deleted first and must be gone before anything else, so that no pod runs without its config or policies.
 */
import { groupResourceOf, type ResourceInfo } from '../../api/resource-info.ts';
import { isReason, ignoreNotFound } from '../../api/status-error.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import type { Client } from '../../client/client.ts';
import { discoverResources } from '../../client/discovery.ts';

/** The result of one round. */
export interface ContentReport {
  /** Group versions that could not be discovered. */
  readonly stale: readonly string[];
  readonly failures: readonly { readonly resource: string; readonly error: unknown }[];
  /** Remaining objects, by resource. */
  readonly remaining: ReadonlyMap<string, number>;
  /** Finalizers of remaining objects, with their number. */
  readonly finalizers: ReadonlyMap<string, number>;
}

interface Tally {
  readonly failures: { resource: string; error: unknown }[];
  readonly remaining: Map<string, number>;
  readonly finalizers: Map<string, number>;
}

/** Runs one round. Rejects only when discovery as a whole fails. */
export async function deleteContent(client: Client, namespace: string, signal: AbortSignal): Promise<ContentReport> {
  const { resources, stale } = await discoverResources(client, signal);
  const deletable = resources.filter(
    (info) => info.namespaced && info.verbs.includes('delete') && info.verbs.includes('list'),
  );
  const tally: Tally = { failures: [], remaining: new Map(), finalizers: new Map() };
  const isPods = (info: ResourceInfo): boolean => info.group === '' && info.resource === 'pods';
  for (const info of deletable.filter(isPods)) await deleteAllOf(client, { info, namespace, signal }, tally);
  if (tally.remaining.size === 0 && tally.failures.length === 0) {
    for (const info of deletable.filter((i) => !isPods(i)))
      await deleteAllOf(client, { info, namespace, signal }, tally);
  }
  return { stale, ...tally };
}

interface Target {
  readonly info: ResourceInfo<KubernetesObject>;
  readonly namespace: string;
  readonly signal: AbortSignal;
}

async function deleteAllOf(client: Client, target: Target, tally: Tally): Promise<void> {
  const { info, namespace, signal } = target;
  const resource = client.resource(info);
  try {
    let items = (await resource.list({ namespace, signal })).items;
    if (items.length === 0) return;
    // When all objects are terminating, the round only waits.
    if (items.every(({ metadata }) => metadata.deletionTimestamp !== undefined))
      return addRemaining(tally, info, items);
    if (info.verbs.includes('deletecollection'))
      await resource.deleteCollection({ namespace, propagationPolicy: 'Background', signal });
    else for (const item of items) await deleteOne(client, target, item);
    items = (await resource.list({ namespace, signal })).items;
    addRemaining(tally, info, items);
  } catch (error) {
    // The resource was served a moment ago and is gone, or cannot be listed.
    if (signal.aborted || !isReason(error, 'NotFound', 'MethodNotAllowed'))
      tally.failures.push({ resource: groupResourceOf(info), error });
  }
}

function addRemaining(tally: Tally, info: ResourceInfo, items: readonly KubernetesObject[]): void {
  // With the dot even where the group is empty, as upstream writes it: `pods. has 1 resource instances`.
  if (items.length > 0) tally.remaining.set(`${info.resource}.${info.group}`, items.length);
  for (const finalizer of items.flatMap((item) => item.metadata.finalizers ?? []))
    tally.finalizers.set(finalizer, (tally.finalizers.get(finalizer) ?? 0) + 1);
}

async function deleteOne(
  client: Client,
  { info, namespace, signal }: Target,
  item: Stored<KubernetesObject>,
): Promise<void> {
  await client
    .resource(info)
    .delete({ namespace, name: item.metadata.name }, { propagationPolicy: 'Background', signal })
    .catch(ignoreNotFound);
}

/**
 * The revisions of a DaemonSet: finds or creates the one of the current template, gives it the highest number, and
 * deletes old ones. Upstream: daemon/update.go constructHistory, cleanupHistory.
 */
import type { Int64 } from '../../api/int64.ts';
import { ControllerRevisions, DaemonSets, Pods } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import type { ControllerRevision, DaemonSet } from '../../api/gen/apps-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Client } from '../../client/client.ts';
import { newControllerReference } from '../../component-helpers/owner-references.ts';
import { computePodTemplateHash } from '../../component-helpers/pod-template-hash.ts';
import {
  equalRevisions,
  revisionsEqualTo,
  nextRevisionNumber,
  storedTemplate,
  renumber,
  revisionName,
  REVISION_HASH_LABEL,
  sortRevisions,
  templatePatch,
  truncateHistory,
} from '../controller-history.ts';

/** The revision of the current template, and the others. */
export interface DaemonHistory {
  readonly current: Stored<ControllerRevision>;
  readonly old: readonly Stored<ControllerRevision>[];
}

export interface HistoryInput {
  readonly client: Client;
  readonly set: Stored<DaemonSet>;
  /** Revisions the set controls. */
  readonly revisions: readonly Stored<ControllerRevision>[];
  /** Pods that the set controls. A function, since it is rarely needed and may be long. */
  pods(): readonly Stored<Pod>[];
  readonly signal: AbortSignal;
  /** Yields to the event loop: a template may be a megabyte. */
  readonly pause: () => Promise<void>;
}

/** Creates, renumbers and deduplicates. Rejects after a hash collision, with collisionCount incremented. */
export async function constructHistory(input: HistoryInput): Promise<DaemonHistory> {
  const { client, set, signal } = input;
  const revisions = await labelled(input);
  const data = templatePatch(set.spec?.template ?? {});
  const controllerRevisions: Stored<ControllerRevision>[] = [];
  for await (const revision of revisionsEqualTo(revisions, { metadata: {}, revision: 0, data }, input.pause))
    controllerRevisions.push(revision);
  const matching = sortRevisions(controllerRevisions);
  const equal = new Set(matching);
  if (matching.length === 0) await input.pause();
  const old = revisions.filter((revision) => !equal.has(revision));
  const number = nextRevisionNumber(old);
  const newest = matching.at(-1);
  if (newest === undefined) return { current: await createRevision(input, data, number), old };
  for (const duplicate of matching.slice(0, -1)) await foldInto(input, newest, duplicate);
  const current = newest.revision < number ? await renumber(client, newest, number, signal) : newest;
  return { current, old };
}

/**
 * The revisions, each with the label that pods refer to. Revisions of early releases may lack it; it then comes from
 * their name.
 */
async function labelled({ client, revisions, signal }: HistoryInput): Promise<Stored<ControllerRevision>[]> {
  const named = (revision: Stored<ControllerRevision>): Promise<Stored<ControllerRevision>> => {
    const { labels, name } = revision.metadata;
    const metadata = { ...revision.metadata, labels: { ...labels, [REVISION_HASH_LABEL]: name } };
    return client.resource(ControllerRevisions).update({ ...revision, metadata }, { signal });
  };
  return await Promise.all(revisions.map((revision) => (hashOf(revision) === '' ? named(revision) : revision)));
}

/** The hash in the labels of a revision's pods. */
export function hashOf(revision: ControllerRevision): string {
  return revision.metadata.labels?.[REVISION_HASH_LABEL] ?? '';
}

/** Keeps revisionHistoryLimit revisions that no pod has. */
export async function cleanUpHistory(input: HistoryInput, old: readonly Stored<ControllerRevision>[]): Promise<void> {
  const limit = input.set.spec?.revisionHistoryLimit ?? 10;
  if (old.length <= limit) return;
  const hashes = new Set(input.pods().map((pod) => pod.metadata.labels?.[REVISION_HASH_LABEL]));
  const live = new Set(
    old.filter((revision) => hashes.has(hashOf(revision))).map((revision) => revision.metadata.name),
  );
  await truncateHistory(input.client, { revisions: old, live, limit }, input.signal);
}

async function createRevision(
  { client, set, signal, pause }: HistoryInput,
  data: Record<string, unknown>,
  revision: Int64,
): Promise<Stored<ControllerRevision>> {
  const template = set.spec?.template ?? {};
  const hash = computePodTemplateHash(template, set.status?.collisionCount);
  await pause();
  const { namespace, name, annotations } = set.metadata;
  const { 'kubectl.kubernetes.io/last-applied-configuration': _, ...kept } = annotations ?? {};
  const wanted: ControllerRevision = {
    metadata: {
      namespace,
      name: revisionName(name, hash),
      labels: { ...template.metadata?.labels, [REVISION_HASH_LABEL]: hash },
      annotations: kept,
      ownerReferences: [newControllerReference(set, DaemonSets)],
    },
    data: storedTemplate(data),
    revision,
  };
  const resource = client.resource(ControllerRevisions);
  try {
    return await resource.create(wanted, { signal });
  } catch (error) {
    if (!isReason(error, 'AlreadyExists')) throw error;
    const existing = await resource.get({ namespace, name: revisionName(name, hash) }, { signal });
    if (equalRevisions(existing, wanted)) return existing;
    await raiseCollisionCount(client, set, signal);
    throw error;
  }
}

async function raiseCollisionCount(client: Client, set: Stored<DaemonSet>, signal: AbortSignal): Promise<void> {
  const sets = client.resource(DaemonSets);
  const { namespace, name } = set.metadata;
  const live = await sets.get({ namespace, name }, { signal });
  // The count was already incremented, or the cache is behind: the next sync uses the new count.
  if ((live.status?.collisionCount ?? 0) !== (set.status?.collisionCount ?? 0)) return;
  const status = {
    ...(live.status ?? set.status),
    collisionCount: (live.status?.collisionCount ?? 0) + 1,
  } as NonNullable<DaemonSet['status']>;
  await sets.updateStatus({ ...live, status }, { signal });
}

async function foldInto(
  { client, pods, signal }: HistoryInput,
  kept: ControllerRevision,
  duplicate: Stored<ControllerRevision>,
): Promise<void> {
  const { namespace, name } = duplicate.metadata;
  for (const pod of pods().filter((p) => p.metadata.labels?.[REVISION_HASH_LABEL] === hashOf(duplicate))) {
    const patch = { metadata: { labels: { [REVISION_HASH_LABEL]: hashOf(kept) } } };
    await client.resource(Pods).patch({ namespace, name: pod.metadata.name }, { type: 'merge', patch }, { signal });
  }
  await client.resource(ControllerRevisions).delete({ namespace, name }, { signal });
}

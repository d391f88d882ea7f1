/**
 * Revisions of a workload's template, stored as ControllerRevisions; DaemonSets and StatefulSets share this.
 * Upstream: pkg/controller/history (NewControllerRevision, realHistory). Differs on purpose: revisions are compared
 * as JSON values, not as bytes.
 */
import { addInt64, type Int64 } from '../api/int64.ts';
import { isLargeValue } from '../api/codec/parts.ts';
import { deepEqual, type Differing } from '../base/equal.ts';
import { fnv32, safeEncode } from '../base/fnv.ts';
import { sortKeys, stableStringify } from '../base/stable-json.ts';
import { ControllerRevisions } from '../api/gen/resources.ts';
import { ignoreNotFound } from '../api/status-error.ts';
import type { ControllerRevision } from '../api/gen/apps-v1.ts';
import type { PodTemplateSpec } from '../api/gen/core-v1.ts';
import type { Stored } from '../api/object.ts';
import type { Client } from '../client/client.ts';

/** Label of pods and revisions that names the revision. */
export const REVISION_HASH_LABEL = 'controller-revision-hash';

/** The part of an owner that a revision records, as a patch that restores it. */
export function templatePatch(template: PodTemplateSpec): Record<string, unknown> {
  return { spec: { template: { ...template, $patch: 'replace' } } };
}

/**
 * The stored form of a template, with sorted keys: clients (`kubectl rollout undo`) compare its bytes with those they
 * compute.
 */
export function storedTemplate<T>(data: T): T {
  return sortKeys(data);
}

/** The template that a revision stores. */
export function templateOf(revision: ControllerRevision): PodTemplateSpec {
  const data = revision.data as
    | { readonly spec?: { readonly template?: PodTemplateSpec & { $patch?: string } } }
    | undefined;
  const { $patch: _, ...template } = data?.spec?.template ?? {};
  return template;
}

/** Oldest first: by revision, then by age, then by name. */
export function sortRevisions(revisions: readonly Stored<ControllerRevision>[]): Stored<ControllerRevision>[] {
  const created = (revision: ControllerRevision): string => revision.metadata.creationTimestamp ?? '';
  const name = (revision: Stored<ControllerRevision>): string => revision.metadata.name;
  return revisions.toSorted((a, b) => {
    if (a.revision !== b.revision) return a.revision < b.revision ? -1 : 1;
    if (created(a) !== created(b)) return created(a) < created(b) ? -1 : 1;
    return name(a) < name(b) ? -1 : 1;
  });
}

/** Whether both store the same. */
export function equalRevisions(a: ControllerRevision, b: ControllerRevision): boolean {
  return deepEqual(a.data, b.data, differing);
}

/** Parts of revisions and the parts of templates from which they were found to differ: templates may have a megabyte. */
const differing: Differing = new WeakMap();

/** Data of fewer characters is compared without a pause. */
const LARGE_DATA = 16_384;

/** The revisions with equal data, in the given order. Large ones are compared in turns. */
export async function* revisionsEqualTo<T extends ControllerRevision>(
  revisions: readonly T[],
  wanted: ControllerRevision,
  pause: () => Promise<void>,
): AsyncGenerator<T, void, undefined> {
  const isLarge = isLargeValue(wanted.data, LARGE_DATA);
  for (const [at, revision] of revisions.entries()) {
    if (isLarge && at > 0) await pause();
    if (equalRevisions(revision, wanted)) yield revision;
  }
}

/** The number the next revision gets. */
export function nextRevisionNumber(revisions: readonly ControllerRevision[]): Int64 {
  const most = revisions.reduce<Int64>((last, { revision }) => (revision > last ? revision : last), 0);
  return addInt64(most, 1);
}

/** Hash of what a revision records, with the collision count mixed in; part of StatefulSets' revision names. */
export function revisionHash(data: unknown, collisionCount?: number): string {
  const text = stableStringify(data);
  return safeEncode(fnv32(collisionCount === undefined ? text : `${text}${collisionCount}`));
}

/** `<owner>-<hash>`, shortened as upstream so that it fits a label. */
export function revisionName(owner: string, hash: string): string {
  return `${owner.length > 223 ? owner.slice(0, 223) : owner}-${hash}`;
}

/** Changes the revision's number, with a retry on conflict. */
export async function renumber(
  client: Client,
  revision: Stored<ControllerRevision>,
  number: Int64,
  signal: AbortSignal,
): Promise<Stored<ControllerRevision>> {
  if (revision.revision === number) return revision;
  return await client.resource(ControllerRevisions).update({ ...revision, revision: number }, { signal });
}

/** Deletes the oldest revisions beyond `limit` that are not live. */
export async function truncateHistory(
  client: Client,
  history: {
    readonly revisions: readonly Stored<ControllerRevision>[];
    readonly live: ReadonlySet<string>;
    readonly limit: number;
  },
  signal: AbortSignal,
): Promise<void> {
  const dead = sortRevisions(history.revisions.filter((revision) => !history.live.has(revision.metadata.name)));
  for (const revision of dead.slice(0, Math.max(0, dead.length - history.limit))) {
    const { namespace, name } = revision.metadata;
    await client.resource(ControllerRevisions).delete({ namespace, name }, { signal }).catch(ignoreNotFound);
  }
}

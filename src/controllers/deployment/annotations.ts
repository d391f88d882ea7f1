/** Annotations that carry a Deployment's history on its ReplicaSets. Pure. Upstream: controller/deployment/util. */
import type { Deployment, ReplicaSet } from '../../api/gen/apps-v1.ts';

export const REVISION = 'deployment.kubernetes.io/revision';
const REVISION_HISTORY = 'deployment.kubernetes.io/revision-history';
export const DESIRED_REPLICAS = 'deployment.kubernetes.io/desired-replicas';
export const MAX_REPLICAS = 'deployment.kubernetes.io/max-replicas';
/** On a Deployment: the revision to roll back to. */
export const ROLLBACK_TO = 'deprecated.deployment.rollback.to';

const NOT_COPIED = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  REVISION,
  REVISION_HISTORY,
  DESIRED_REPLICAS,
  MAX_REPLICAS,
  ROLLBACK_TO,
]);
const MAX_HISTORY_LENGTH = 2000;

/** Parses the annotation of a revision, a 64-bit integer; undefined when it is invalid. */
export function parseRevision(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[+-]?\d+$/.test(text)) return undefined;
  const revision = BigInt(text.replace('+', ''));
  return BigInt.asIntN(64, revision) === revision ? revision : undefined;
}

/** The revision of a set; 0 when it has none. */
export function revisionOf(set: ReplicaSet): bigint {
  return parseRevision(set.metadata.annotations?.[REVISION]) ?? 0n;
}

/** For sorting: negative when the set's revision is the lower one. */
export function compareRevisions(a: ReplicaSet, b: ReplicaSet): number {
  const difference = revisionOf(a) - revisionOf(b);
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}

/** The highest revision among the sets. */
export function maxRevision(sets: readonly ReplicaSet[]): bigint {
  return sets.map(revisionOf).reduce((highest, each) => (each > highest ? each : highest), 0n);
}

/** The annotations of a Deployment's new ReplicaSet, which may be an old one again; `old` when nothing changes. */
export function newSetAnnotations(
  deployment: Deployment,
  old: Record<string, string>,
  newRevision: bigint,
): Record<string, string> {
  const next = { ...old };
  for (const [name, value] of Object.entries(deployment.metadata.annotations ?? {})) {
    if (!NOT_COPIED.has(name)) next[name] = value;
  }
  const oldRevision = old[REVISION] ?? '';
  const before = oldRevision === '' ? 0n : parseRevision(oldRevision);
  if (before === undefined || before >= newRevision) return next;
  next[REVISION] = String(newRevision);
  if (oldRevision !== '') next[REVISION_HISTORY] = appendHistory(old[REVISION_HISTORY], oldRevision);
  return next;
}

function appendHistory(history: string | undefined, revision: string): string {
  const entries = (history ?? '') === '' ? [] : (history as string).split(',');
  entries.push(revision);
  while (entries.length > 1 && entries.join(',').length > MAX_HISTORY_LENGTH) entries.shift();
  return entries.join(',');
}

/** The annotations with the Deployment's size; the same object when nothing changes. */
export function withSizeAnnotations(
  annotations: Record<string, string> | undefined,
  desired: number,
  max: number,
): Record<string, string> {
  const old = annotations ?? {};
  if (old[DESIRED_REPLICAS] === String(desired) && old[MAX_REPLICAS] === String(max)) return old;
  return { ...old, [DESIRED_REPLICAS]: String(desired), [MAX_REPLICAS]: String(max) };
}

/**
 * The annotations of a Deployment that is rolled back to the set: the set's, apart from those that are never copied.
 */
export function rolledBackAnnotations(own: Record<string, string>, set: ReplicaSet): Record<string, string> {
  const pick = (from: Record<string, string>, copied: boolean): [string, string][] =>
    Object.entries(from).filter(([name]) => NOT_COPIED.has(name) !== copied);
  return Object.fromEntries([...pick(own, false), ...pick(set.metadata.annotations ?? {}, true)]);
}

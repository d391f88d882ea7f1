/**
 * Decides what a DELETE does to an object, without access to the store. Upstream: rest.BeforeDelete,
 * deletionFinalizersForGarbageCollection, markAsDeleting.
 */
import { addInt64, type Int64, secondsToMs } from '../../api/int64.ts';
import type { DeleteOptions } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { formatTime, parseTime } from '../../api/time.ts';
import { checkPreconditions } from '../registry/preconditions.ts';
import type { GenericStore } from './generic-store.ts';

/** The steps of a deletion. */
export type DeletionPlan =
  /** The object is being deleted already and the request changes nothing. */
  | { readonly kind: 'pending' }
  /** The object is marked for deletion, or its mark changes, and it stays. */
  | { readonly kind: 'mark'; readonly object: KubernetesObject }
  /** The object is removed now. */
  /**
   * `object`: the state for the response when the kind has a grace period; upstream marks such an object before
   * removing it.
   */
  | { readonly kind: 'remove'; readonly object?: KubernetesObject };

const ORPHAN = 'orphan';
const FOREGROUND = 'foregroundDeletion';

function propagation(store: GenericStore, finalizers: readonly string[], options: DeleteOptions): string {
  if (options.orphanDependents !== undefined) return options.orphanDependents ? 'Orphan' : 'Background';
  if (options.propagationPolicy !== undefined) return options.propagationPolicy;
  if (finalizers.includes(ORPHAN)) return 'Orphan';
  if (finalizers.includes(FOREGROUND)) return 'Foreground';
  return store.definition.defaultPropagation ?? 'Background';
}

function finalizersAfter(
  store: GenericStore,
  finalizers: readonly string[],
  options: DeleteOptions,
): readonly string[] {
  const policy = propagation(store, finalizers, options);
  const wanted = policy === 'Orphan' ? ORPHAN : policy === 'Foreground' ? FOREGROUND : '';
  const remaining = finalizers.filter(
    (finalizer) => finalizer === wanted || (finalizer !== ORPHAN && finalizer !== FOREGROUND),
  );
  return wanted === '' || remaining.includes(wanted) ? remaining : [...remaining, wanted];
}

/** A copy whose fields and metadata fields may be replaced, but not changed below. */
function draftOf(object: KubernetesObject): KubernetesObject {
  return { ...object, metadata: { ...object.metadata } };
}

/** Marks a private copy. `graceSeconds`: undefined for kinds whose deletion has no period. */
function mark(
  next: KubernetesObject,
  how: { deleteAt: string; graceSeconds: Int64 | undefined; finalizers: readonly string[] },
): KubernetesObject {
  const first = next.metadata.deletionTimestamp === undefined;
  next.metadata.deletionTimestamp = how.deleteAt;
  if (how.graceSeconds !== undefined) next.metadata.deletionGracePeriodSeconds = how.graceSeconds;
  if (how.finalizers.length > 0) next.metadata.finalizers = [...how.finalizers];
  else delete next.metadata.finalizers;
  if (first && how.graceSeconds !== undefined && (next.metadata.generation ?? 0) > 0)
    next.metadata.generation = addInt64(next.metadata.generation!, 1);
  return next;
}

/** Decides the plan. `nowMs` is wall time. Throws 409 for failed preconditions. */
export function planDeletion(
  store: GenericStore,
  object: KubernetesObject,
  { options, nowMs }: { options: DeleteOptions; nowMs: number },
): DeletionPlan {
  checkPreconditions(store.info, object, options);
  const { strategy } = store.definition;
  const { metadata } = object;
  const requested =
    options.gracePeriodSeconds === undefined
      ? undefined
      : options.gracePeriodSeconds < 0
        ? 1
        : options.gracePeriodSeconds;
  const before = metadata.finalizers ?? [];
  if (metadata.deletionTimestamp !== undefined && (metadata.deletionGracePeriodSeconds ?? 0) > 0) {
    return shorten(object, requested);
  }
  const already = metadata.deletionTimestamp !== undefined;
  const draft = draftOf(object);
  const grace = already ? 0 : (strategy.gracefulDeletionSeconds?.(draft, requested) ?? 0);
  const shown = strategy.deletesWithoutPeriod === true ? undefined : grace;
  const finalizers = finalizersAfter(store, draft.metadata.finalizers ?? [], options);
  const blocked = finalizers.length > 0 || strategy.blocksDeletion?.(object) === true;
  if (grace === 0 && !blocked) {
    if (already || strategy.gracefulDeletionSeconds === undefined) return { kind: 'remove' };
    return { kind: 'remove', object: mark(draft, { deleteAt: formatTime(nowMs), graceSeconds: shown, finalizers }) };
  }
  const held = new Set(before);
  const unchanged = finalizers.length === before.length && finalizers.every((finalizer) => held.has(finalizer));
  if (already && unchanged) return { kind: 'pending' };
  const deleteAt = already ? metadata.deletionTimestamp! : formatTime(nowMs + secondsToMs(grace));
  return { kind: 'mark', object: mark(draft, { deleteAt, graceSeconds: shown, finalizers }) };
}

/** A second DELETE may only shorten the grace period. */
function shorten(object: KubernetesObject, requested: Int64 | undefined): DeletionPlan {
  const { metadata } = object;
  const grace = metadata.deletionGracePeriodSeconds!;
  if (requested === undefined || requested >= grace) return { kind: 'pending' };
  const finalizers = metadata.finalizers ?? [];
  const startMs = parseTime(metadata.deletionTimestamp) - secondsToMs(grace);
  const deleteAt = formatTime(startMs + secondsToMs(requested));
  const marked = mark(draftOf(object), { deleteAt, graceSeconds: requested, finalizers });
  return { kind: requested === 0 && finalizers.length === 0 ? 'remove' : 'mark', object: marked };
}

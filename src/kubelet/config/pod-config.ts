/**
 * Merges the pod sources into one stream of ADD, UPDATE, REMOVE, DELETE and RECONCILE. Upstream: pkg/kubelet/config/config.go.
 *
 * A source either sets its full list or sends single changes; the operation follows from a comparison with
 * the source's previous pods. The first set of a source always sends a message, even an empty ADD, by which the sync
 * loop learns that the source is ready.
 */
import { deepEqual } from '../../base/equal.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import {
  CONFIG_FIRST_SEEN_ANNOTATION,
  CONFIG_HASH_ANNOTATION,
  CONFIG_MIRROR_ANNOTATION,
  CONFIG_SOURCE_ANNOTATION,
  isMirrorPod,
  podUid,
  type PodOperation,
  type PodSource,
  type PodUpdate,
} from '../types/pod-update.ts';

/** Receives the pods of one source. */
export interface PodConfigSource {
  /** The whole set: pods that are missing in it are removed. */
  set(pods: readonly Pod[]): void;
  upsert(pod: Pod): void;
  remove(uid: string): void;
}

export interface PodConfig {
  /** Registers a source; do so for all before any sends. */
  source(name: PodSource): PodConfigSource;
  sources(): readonly PodSource[];
}

const LOCAL_ANNOTATIONS: readonly string[] = [
  CONFIG_SOURCE_ANNOTATION,
  CONFIG_MIRROR_ANNOTATION,
  CONFIG_FIRST_SEEN_ANNOTATION,
  CONFIG_HASH_ANNOTATION,
];

function foreignAnnotations(pod: Pod): Record<string, string> {
  return Object.fromEntries(
    Object.entries(pod.metadata.annotations ?? {}).filter(([key]) => !LOCAL_ANNOTATIONS.includes(key)),
  );
}

/** Whether the kubelet has to act on the difference, status aside. */
function differSemantically(a: Pod, b: Pod): boolean {
  return !(
    deepEqual(a.spec, b.spec) &&
    deepEqual(a.metadata.labels ?? {}, b.metadata.labels ?? {}) &&
    a.metadata.deletionTimestamp === b.metadata.deletionTimestamp &&
    a.metadata.deletionGracePeriodSeconds === b.metadata.deletionGracePeriodSeconds &&
    deepEqual(foreignAnnotations(a), foreignAnnotations(b))
  );
}

/** The operation for a change of a pod; undefined: none is needed. */
export function classifyChange(before: Pod, after: Pod): PodOperation | undefined {
  if (!differSemantically(before, after)) return deepEqual(before.status, after.status) ? undefined : 'RECONCILE';
  return after.metadata.deletionTimestamp === undefined ? 'UPDATE' : 'DELETE';
}

/** The pod with its source in the annotation: a user's annotation never makes a pod static. */
function withSource(pod: Pod, source: PodSource): Pod {
  const { annotations } = pod.metadata;
  if (annotations?.[CONFIG_SOURCE_ANNOTATION] === source) return pod;
  return {
    ...pod,
    metadata: { ...pod.metadata, annotations: { ...annotations, [CONFIG_SOURCE_ANNOTATION]: source } },
  };
}

/** A static pod keeps the time it was first seen. */
function withFirstSeen(before: Pod, after: Pod): Pod {
  const seen = before.metadata.annotations?.[CONFIG_FIRST_SEEN_ANNOTATION];
  if (seen === undefined || after.metadata.annotations?.[CONFIG_FIRST_SEEN_ANNOTATION] === seen) return after;
  return {
    ...after,
    metadata: {
      ...after.metadata,
      annotations: { ...after.metadata.annotations, [CONFIG_FIRST_SEEN_ANNOTATION]: seen },
    },
  };
}

/** Sends the updates to `configCh`. */
export function createPodConfig(configCh: (update: PodUpdate) => void): PodConfig {
  const names: PodSource[] = [];

  function source(name: PodSource): PodConfigSource {
    const podsByUid = new Map<string, Pod>();
    let seen = false;
    names.push(name);

    function send(op: PodOperation, pods: readonly Pod[]): void {
      configCh({ op, source: name, pods });
    }

    /**
     * The previous pod, if only one of the two is a mirror pod. The kubelet treats them as different pods: the
     * containers of the old one must end. Upstream's API server refuses such changes.
     */
    function takeReplaced(newPod: Pod): Pod | undefined {
      const before = podsByUid.get(podUid(newPod));
      if (before === undefined || isMirrorPod(before) === isMirrorPod(newPod)) return undefined;
      podsByUid.delete(podUid(newPod));
      return before;
    }

    /** Stores the new version and returns the operation. */
    function note(newPod: Pod): { op: PodOperation | undefined; pod: Pod } {
      const before = podsByUid.get(podUid(newPod));
      const marked = withSource(newPod, name);
      const pod = before === undefined ? marked : withFirstSeen(before, marked);
      podsByUid.set(podUid(pod), pod);
      return { op: before === undefined ? 'ADD' : classifyChange(before, pod), pod };
    }

    return {
      set(pods) {
        const byOperation: Record<'REMOVE' | 'ADD' | 'UPDATE' | 'DELETE' | 'RECONCILE', Pod[]> = {
          REMOVE: [],
          ADD: [],
          UPDATE: [],
          DELETE: [],
          RECONCILE: [],
        };
        const wanted = new Set(pods.map(podUid));
        for (const [uid, pod] of [...podsByUid]) {
          if (wanted.has(uid)) continue;
          podsByUid.delete(uid);
          byOperation.REMOVE.push(pod);
        }
        for (const pod of pods) {
          const replaced = takeReplaced(pod);
          if (replaced !== undefined) byOperation.REMOVE.push(replaced);
          const noted = note(pod);
          if (noted.op !== undefined && noted.op !== 'SET') byOperation[noted.op].push(noted.pod);
        }
        for (const op of ['REMOVE', 'ADD', 'UPDATE', 'DELETE', 'RECONCILE'] as const) {
          if (byOperation[op].length > 0 || (op === 'ADD' && !seen)) send(op, byOperation[op]);
        }
        seen = true;
      },
      upsert(pod) {
        const replaced = takeReplaced(pod);
        if (replaced !== undefined) send('REMOVE', [replaced]);
        const noted = note(pod);
        if (noted.op !== undefined) send(noted.op, [noted.pod]);
      },
      remove(uid) {
        const pod = podsByUid.get(uid);
        if (pod === undefined) return;
        podsByUid.delete(uid);
        send('REMOVE', [pod]);
      },
    };
  }

  return { source, sources: () => names };
}

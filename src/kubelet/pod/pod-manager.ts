/**
 * The desired pods of this node, from the pod sources. Upstream: pkg/kubelet/pod/pod_manager.go.
 *
 * A static pod and its mirror pod are two objects with the same full name. The kubelet uses the static pod's uid, and
 * reports status under the mirror's. Only the sync loop changes this; other parts read it.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { isMirrorPod, podFullName, podUid } from '../types/pod-update.ts';

/** A pod with its mirror. `wasMirror`: the argument was the mirror. */
export interface PodAndMirror {
  readonly pod: Pod | undefined;
  readonly mirrorPod: Pod | undefined;
  readonly wasMirror: boolean;
}

/** Reads of the desired state. */
export interface PodManagerView {
  /** All pods without mirrors. */
  getPods(): readonly Pod[];
  getPodByUid(uid: string): Pod | undefined;
  getPodByName(namespace: string, name: string): Pod | undefined;
  getPodByFullName(fullName: string): Pod | undefined;
  getMirrorPodByPod(pod: Pod): Pod | undefined;
  getPodByMirrorPod(mirrorPod: Pod): Pod | undefined;
  getPodAndMirrorPod(pod: Pod): PodAndMirror;
  /** The kubelet's uid for an API uid: for a mirror that of its static pod. */
  translatePodUid(uid: string): string;
}

export interface PodManager extends PodManagerView {
  getPodsAndMirrorPods(): {
    pods: readonly Pod[];
    mirrorPods: readonly Pod[];
    orphanedMirrorPodFullNames: readonly string[];
  };
  addPod(pod: Pod): void;
  updatePod(pod: Pod): void;
  removePod(pod: Pod): void;
  /** Uids of mirrors by static pod uid and back. */
  getUidTranslations(): { podToMirror: ReadonlyMap<string, string>; mirrorToPod: ReadonlyMap<string, string> };
}

export function createPodManager(): PodManager {
  const podByUid = new Map<string, Pod>();
  const mirrorPodByUid = new Map<string, Pod>();
  const podByFullName = new Map<string, Pod>();
  const mirrorPodByFullName = new Map<string, Pod>();

  function updatePod(pod: Pod): void {
    const byUid = isMirrorPod(pod) ? mirrorPodByUid : podByUid;
    const byFullName = isMirrorPod(pod) ? mirrorPodByFullName : podByFullName;
    byUid.set(podUid(pod), pod);
    byFullName.set(podFullName(pod), pod);
  }

  function removePod(pod: Pod): void {
    const byUid = isMirrorPod(pod) ? mirrorPodByUid : podByUid;
    const byFullName = isMirrorPod(pod) ? mirrorPodByFullName : podByFullName;
    byUid.delete(podUid(pod));
    // A new pod may have the name before the old one is removed.
    if (podUid(byFullName.get(podFullName(pod)) ?? pod) === podUid(pod)) byFullName.delete(podFullName(pod));
  }

  const getMirrorPodByPod = (pod: Pod): Pod | undefined => mirrorPodByFullName.get(podFullName(pod));
  const getPodByMirrorPod = (mirrorPod: Pod): Pod | undefined => podByFullName.get(podFullName(mirrorPod));

  return {
    getPods: () => [...podByUid.values()],
    getPodByUid: (uid) => podByUid.get(uid),
    getPodByName: (namespace, name) => podByFullName.get(`${name}_${namespace}`),
    getPodByFullName: (fullName) => podByFullName.get(fullName),
    getMirrorPodByPod,
    getPodByMirrorPod,
    getPodAndMirrorPod(pod) {
      return isMirrorPod(pod)
        ? { pod: getPodByMirrorPod(pod), mirrorPod: pod, wasMirror: true }
        : { pod, mirrorPod: getMirrorPodByPod(pod), wasMirror: false };
    },
    translatePodUid(uid) {
      const mirror = mirrorPodByUid.get(uid);
      const pod = mirror === undefined ? undefined : getPodByMirrorPod(mirror);
      return pod === undefined ? uid : podUid(pod);
    },
    getPodsAndMirrorPods: () => ({
      pods: [...podByUid.values()],
      mirrorPods: [...mirrorPodByUid.values()],
      orphanedMirrorPodFullNames: [...mirrorPodByFullName.keys()].filter((fullName) => !podByFullName.has(fullName)),
    }),
    addPod: updatePod,
    updatePod,
    removePod,
    getUidTranslations() {
      const podToMirror = new Map<string, string>();
      const mirrorToPod = new Map<string, string>();
      for (const mirror of mirrorPodByUid.values()) {
        const pod = getPodByMirrorPod(mirror);
        if (pod === undefined) continue;
        podToMirror.set(podUid(pod), podUid(mirror));
        mirrorToPod.set(podUid(mirror), podUid(pod));
      }
      return { podToMirror, mirrorToPod };
    },
  };
}

/**
 * Pods as the API server has them, and which version of a status it has: the pod manager's copy may be older than what the kubelet's
 * own last write returned.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { PodManagerView } from '../pod/pod-manager.ts';
import { isStaticPod, podUid } from '../types/pod-update.ts';

export class WrittenPods {
  readonly #podManager: PodManagerView;
  /** Version of the status that was sent last, by the uid that the API knows the pod by. */
  readonly #versions = new Map<string, number>();
  /** The pod as the last write returned it, by the same uid. */
  readonly #lastWritten = new Map<string, Pod>();

  constructor(podManager: PodManagerView) {
    this.#podManager = podManager;
  }

  /** The newest known API object that the status is written to: for a static pod its mirror pod. */
  apiPod(uid: string): Pod | undefined {
    let pod = this.#podManager.getPodByUid(uid);
    if (pod !== undefined && isStaticPod(pod)) pod = this.#podManager.getMirrorPodByPod(pod);
    if (pod === undefined) return undefined;
    const written = this.#lastWritten.get(podUid(pod));
    if (written === undefined || revisionOf(written) > revisionOf(pod)) return written ?? pod;
    this.#lastWritten.delete(podUid(pod));
    return pod;
  }

  written(pod: Pod): void {
    this.#lastWritten.set(podUid(pod), pod);
  }

  sent(apiPod: Pod, version: number): void {
    this.#versions.set(podUid(apiPod), version);
  }

  isSent(uid: string, version: number): boolean {
    const pod = this.apiPod(uid);
    return pod !== undefined && this.#versions.get(podUid(pod)) === version;
  }

  forget(uid: string): void {
    const apiUid = podUid(this.apiPod(uid) ?? { metadata: { uid } });
    this.#lastWritten.delete(apiUid);
    this.#versions.delete(apiUid);
  }

  keepOnly(known: ReadonlySet<string>): void {
    for (const map of [this.#lastWritten, this.#versions])
      for (const uid of [...map.keys()]) if (!known.has(uid)) map.delete(uid);
  }
}

function revisionOf(pod: Pod): number {
  return Number(pod.metadata.resourceVersion ?? 0);
}

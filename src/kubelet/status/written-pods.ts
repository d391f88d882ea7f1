/**
 * The newest pods of the API server and the versions of their written statuses. The pod manager's copy may be older
 * than the result of the kubelet's last write.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { PodManagerView } from '../pod/pod-manager.ts';
import { isStaticPod, podUid } from '../types/pod-update.ts';

export class WrittenPods {
  readonly #podManager: PodManagerView;
  /** The last written version, by the uid in the API. */
  readonly #versions = new Map<string, number>();
  /** The result of the last write, by the same uid. */
  readonly #lastWritten = new Map<string, Pod>();

  constructor(podManager: PodManagerView) {
    this.#podManager = podManager;
  }

  /** The newest API object that the status is written to; for a static pod its mirror pod. */
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

  keepOnly(podUids: ReadonlySet<string>): void {
    for (const map of [this.#lastWritten, this.#versions])
      for (const uid of [...map.keys()]) if (!podUids.has(uid)) map.delete(uid);
  }
}

function revisionOf(pod: Pod): number {
  return Number(pod.metadata.resourceVersion ?? 0);
}

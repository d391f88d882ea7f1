import type { ContainerStatus } from '../container/runtime.ts';

/** Statuses of exited containers by pod, so that reading one pod does not walk over others' containers. */
export class ExitedStatuses {
  readonly #byPod = new Map<string, Map<string, ContainerStatus>>();

  get(podUid: string, containerId: string): ContainerStatus | undefined {
    return this.#byPod.get(podUid)?.get(containerId);
  }

  set(podUid: string, status: ContainerStatus): void {
    const ofPod = this.#byPod.get(podUid);
    if (ofPod === undefined) this.#byPod.set(podUid, new Map([[status.id, status]]));
    else ofPod.set(status.id, status);
  }

  /** Removes those of the pod that are not listed any more. */
  keepOnly(podUid: string, listed: ReadonlySet<string>): void {
    const ofPod = this.#byPod.get(podUid);
    if (ofPod === undefined) return;
    for (const id of ofPod.keys()) if (!listed.has(id)) ofPod.delete(id);
    if (ofPod.size === 0) this.#byPod.delete(podUid);
  }

  forgetPod(podUid: string): void {
    this.#byPod.delete(podUid);
  }
}

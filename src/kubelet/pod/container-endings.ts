/** Why the kubelet killed containers, for the pods where this happened most recently. */
import { Lru } from '../../base/lru.ts';
import type { ContainerEnding } from '../../api/pod-node-state.ts';

const MAX_PODS = 300;
/** For each container and reason: the kill in progress, and the last one, which the pod's status shows. */
const MAX_ALIKE = 2;
const MAX_OUTPUT_CHARS = 1024;

export class ContainerEndings {
  readonly #ofPods = new Lru<string, ReadonlyMap<string, readonly ContainerEnding[]>>(MAX_PODS);

  add(uid: string, { output, ...ending }: ContainerEnding): void {
    const existing = this.#ofPods.get(uid) ?? new Map<string, readonly ContainerEnding[]>();
    const key = `${ending.container}/${ending.reason}`;
    const newest = [{ ...ending, output: output.slice(0, MAX_OUTPUT_CHARS) }, ...(existing.get(key) ?? [])];
    this.#ofPods.set(uid, new Map([...existing, [key, newest.slice(0, MAX_ALIKE)]]));
  }

  ofPod(uid: string): readonly ContainerEnding[] {
    return [...(this.#ofPods.peek(uid)?.values() ?? [])].flat();
  }
}

/** Why the kubelet ended containers, of the pods for which that happened last. */
import { Lru } from '../../base/lru.ts';
import type { ContainerEnding } from '../../api/pod-node-state.ts';

const MAX_PODS = 300;
/** The container that is being ended now, and the one whose end the pod's status has, for each container and reason. */
const MAX_ALIKE = 2;
const MAX_OUTPUT_CHARS = 1024;

export class ContainerEndings {
  readonly #ofPods = new Lru<string, ReadonlyMap<string, readonly ContainerEnding[]>>(MAX_PODS);

  add(uid: string, { output, ...ending }: ContainerEnding): void {
    const known = this.#ofPods.get(uid) ?? new Map<string, readonly ContainerEnding[]>();
    const key = `${ending.container}/${ending.reason}`;
    const newest = [{ ...ending, output: output.slice(0, MAX_OUTPUT_CHARS) }, ...(known.get(key) ?? [])];
    this.#ofPods.set(uid, new Map([...known, [key, newest.slice(0, MAX_ALIKE)]]));
  }

  ofPod(uid: string): readonly ContainerEnding[] {
    return [...(this.#ofPods.peek(uid)?.values() ?? [])].flat();
  }
}

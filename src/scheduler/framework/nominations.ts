/** Pods that preemption has promised a node, until they are bound, gone or promised another. Upstream: backend/queue/nominator.go. */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Nominations } from './plugin.ts';

/** The promises. */
export interface Nominator extends Nominations {
  /** '' takes the promise back. */
  set(pod: Pod, nodeName: string): void;
  /** Follows what the pod's status says. */
  follow(pod: Pod): void;
  delete(uid: string): void;
}

const NOBODY: readonly Pod[] = [];

/** Creates an empty one. */
export function createNominator(): Nominator {
  const byNode = new Map<string, Map<string, Pod>>();
  const nodeOf = new Map<string, string>();
  const versions = new Map<string, number>();
  let changes = 0;
  const remove = (uid: string): void => {
    const node = nodeOf.get(uid);
    if (node === undefined) return;
    nodeOf.delete(uid);
    const pods = byNode.get(node);
    pods?.delete(uid);
    if (pods?.size === 0) byNode.delete(node);
    versions.set(node, ++changes);
  };
  const set = (pod: Pod, nodeName: string): void => {
    const uid = pod.metadata.uid ?? '';
    remove(uid);
    if (nodeName === '') return;
    nodeOf.set(uid, nodeName);
    const pods = byNode.get(nodeName) ?? new Map<string, Pod>();
    byNode.set(nodeName, pods.set(uid, pod));
    versions.set(nodeName, ++changes);
  };
  return {
    on(nodeName) {
      if (byNode.size === 0) return NOBODY;
      const pods = byNode.get(nodeName);
      return pods === undefined ? NOBODY : [...pods.values()];
    },
    nodeOf: (pod) => nodeOf.get(pod.metadata.uid ?? ''),
    version: (nodeName) => versions.get(nodeName) ?? 0,
    set,
    follow: (pod) => set(pod, pod.status?.nominatedNodeName ?? nodeOf.get(pod.metadata.uid ?? '') ?? ''),
    delete: remove,
  };
}

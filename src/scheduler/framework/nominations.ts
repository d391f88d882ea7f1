/**
 * Pods with a nominated node, until they are bound, deleted or nominated to another. Upstream: nominator
 * (addNominatedPod) in backend/queue/nominator.go.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Nominations } from './plugin.ts';

export interface Nominator extends Nominations {
  /** '' clears the nomination. */
  set(pod: Stored<Pod>, nodeName: string): void;
  /** Takes over nominatedNodeName of the pod's status. */
  follow(pod: Stored<Pod>): void;
  delete(uid: string): void;
}

const NO_PODS: readonly Stored<Pod>[] = [];

/** The number of changes kept; a reader that is further behind reads all nodes. */
const LOG_LENGTH = 4096;

export function createNominator(): Nominator {
  const byNode = new Map<string, Map<string, Stored<Pod>>>();
  const nodeOf = new Map<string, string>();
  const log: string[] = [];
  let changes = 0;
  const note = (node: string): void => {
    log[changes++ % LOG_LENGTH] = node;
  };
  const remove = (uid: string): void => {
    const node = nodeOf.get(uid);
    if (node === undefined) return;
    nodeOf.delete(uid);
    const pods = byNode.get(node);
    pods?.delete(uid);
    if (pods?.size === 0) byNode.delete(node);
    note(node);
  };
  const set = (pod: Stored<Pod>, nodeName: string): void => {
    const uid = pod.metadata.uid;
    remove(uid);
    if (nodeName === '') return;
    nodeOf.set(uid, nodeName);
    const pods = byNode.get(nodeName) ?? new Map<string, Stored<Pod>>();
    byNode.set(nodeName, pods.set(uid, pod));
    note(nodeName);
  };
  return {
    on(nodeName) {
      if (byNode.size === 0) return NO_PODS;
      const pods = byNode.get(nodeName);
      return pods === undefined ? NO_PODS : [...pods.values()];
    },
    nodeOf: (pod) => nodeOf.get(pod.metadata.uid),
    get changes() {
      return changes;
    },
    changesSince(count, visit) {
      if (count < 0 || changes - count > LOG_LENGTH) return false;
      for (let at = count; at < changes; at++) visit(log[at % LOG_LENGTH] as string);
      return true;
    },
    set,
    follow: (pod) => set(pod, pod.status?.nominatedNodeName ?? nodeOf.get(pod.metadata.uid) ?? ''),
    delete: remove,
  };
}

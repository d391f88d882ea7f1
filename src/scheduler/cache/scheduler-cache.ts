/**
 * The nodes and the pods on them as the scheduler knows them, including pods whose binding it has started (assumed).
 * The informer confirms an assumed pod; a failed binding forgets it. Upstream: scheduler/backend/cache.
 */
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { NodeInfo, type Snapshot } from './node-info.ts';
import { NodeTracker } from './node-tracker.ts';

/** The cache. All methods are synchronous; the scheduling loop and the informers share one thread. */
export interface SchedulerCache {
  addNode(node: Stored<Node>): void;
  updateNode(node: Stored<Node>): void;
  removeNode(name: string): void;
  /** Adds a pod that has a node; confirms it when it was assumed. */
  addPod(pod: Stored<Pod>): void;
  updatePod(pod: Stored<Pod>): void;
  removePod(pod: Stored<Pod>): void;
  /** Counts the pod on the node before it is bound. Upstream: AssumePod. */
  assume(pod: Stored<Pod>, nodeName: string): void;
  /** Removes an assumed pod. Upstream: ForgetPod. */
  forget(uid: string): void;
  isAssumed(uid: string): boolean;
  /** The node of a known pod. */
  nodeOf(uid: string): string | undefined;
  snapshot(): Snapshot;
  nodeCount(): number;
  /** Computed by a walk over all pods; for metrics. */
  podCounts(): { readonly pods: number; readonly assumed: number };
  /** In the order in which they were added. */
  nodesInOrder(): readonly NodeInfo[];
}

interface PodState {
  readonly node: string;
  readonly assumed: boolean;
}

export function createSchedulerCache(): SchedulerCache {
  const nodes = new Map<string, NodeInfo>();
  const placed = new Map<string, PodState>();
  /** Pods that arrived before their node. */
  const orphans = new Map<string, Map<string, Stored<Pod>>>();
  let order: NodeInfo[] | undefined;
  const withAffinity = new Set<NodeInfo>();
  const withRequiredAntiAffinity = new Set<NodeInfo>();
  const tracker = new NodeTracker<NodeInfo>();
  let preferNoScheduleNodes = 0;
  const imageCounts = new Map<string, number>();
  const countNode = (info: NodeInfo, sign: 1 | -1): void => {
    if (info.node.spec?.taints?.some(({ effect }) => effect === 'PreferNoSchedule') === true)
      preferNoScheduleNodes += sign;
    for (const image of info.images.keys()) {
      const count = (imageCounts.get(image) ?? 0) + sign;
      if (count === 0) imageCounts.delete(image);
      else imageCounts.set(image, count);
    }
  };
  const note = (info: NodeInfo): void => {
    if (info.podsWithAffinity.size > 0) withAffinity.add(info);
    else withAffinity.delete(info);
    if (info.podsWithRequiredAntiAffinity.size > 0) withRequiredAntiAffinity.add(info);
    else withRequiredAntiAffinity.delete(info);
  };

  const put = (pod: Stored<Pod>, nodeName: string, assumed: boolean): void => {
    const uid = pod.metadata.uid;
    take(uid);
    placed.set(uid, { node: nodeName, assumed });
    const info = nodes.get(nodeName);
    if (info !== undefined) {
      info.addPod(pod);
      note(info);
    } else (orphans.get(nodeName) ?? orphans.set(nodeName, new Map()).get(nodeName))?.set(uid, pod);
  };
  const take = (uid: string): void => {
    const at = placed.get(uid);
    if (at === undefined) return;
    placed.delete(uid);
    const info = nodes.get(at.node);
    if (info?.removePod(uid) === true) note(info);
    orphans.get(at.node)?.delete(uid);
  };
  const setNode = (node: Stored<Node>): void => {
    const name = node.metadata.name;
    const nodeInfo = nodes.get(name);
    if (nodeInfo !== undefined) {
      if (zoneOf(nodeInfo.node) !== zoneOf(node)) order = undefined;
      countNode(nodeInfo, -1);
      nodeInfo.setNode(node);
      return countNode(nodeInfo, 1);
    }
    const info = new NodeInfo(node);
    info.slot = tracker.add(info);
    info.tracker = tracker;
    for (const pod of orphans.get(name)?.values() ?? []) info.addPod(pod);
    orphans.delete(name);
    note(info);
    countNode(info, 1);
    nodes.set(name, info);
    order = undefined;
  };
  const seen = (pod: Stored<Pod>): void => {
    const [uid, node] = [pod.metadata.uid, pod.spec?.nodeName ?? ''];
    const podState = placed.get(uid);
    if (podState?.node !== node || nodes.get(node)?.renewPod(pod) !== true) return put(pod, node, false);
    if (podState.assumed) placed.set(uid, { node, assumed: false });
  };
  return {
    addNode: setNode,
    updateNode: setNode,
    removeNode(name) {
      const info = nodes.get(name);
      if (info === undefined) return;
      withAffinity.delete(info);
      withRequiredAntiAffinity.delete(info);
      countNode(info, -1);
      if (info.pods.size > 0) orphans.set(name, new Map(info.pods));
      nodes.delete(name);
      info.tracker = undefined;
      tracker.remove(info.slot);
      order = undefined;
    },
    addPod: seen,
    updatePod: seen,
    removePod: (pod) => take(pod.metadata.uid),
    assume: (pod, nodeName) => put(pod, nodeName, true),
    forget(uid) {
      if (placed.get(uid)?.assumed === true) take(uid);
    },
    isAssumed: (uid) => placed.get(uid)?.assumed === true,
    nodeOf: (uid) => placed.get(uid)?.node,
    snapshot: () => ({
      nodes: (order ??= interleaveZones([...nodes.values()])),
      byName: (name) => nodes.get(name),
      withAffinity,
      withRequiredAntiAffinity,
      tracker,
      preferNoScheduleNodes,
      imageNodes: (image) => imageCounts.get(image) ?? 0,
    }),
    nodeCount: () => nodes.size,
    podCounts: () => ({ pods: placed.size, assumed: [...placed.values()].filter(({ assumed }) => assumed).length }),
    nodesInOrder: () => [...nodes.values()],
  };
}

function zoneOf(node: Stored<Node>): string {
  const labels = node.metadata.labels ?? {};
  return `${labels['topology.kubernetes.io/region'] ?? ''}:${labels['topology.kubernetes.io/zone'] ?? ''}`;
}

/** One node of each zone in turn, so that a sample of the nodes has all zones. Upstream: nodeTree. */
function interleaveZones(all: readonly NodeInfo[]): NodeInfo[] {
  const zones = Map.groupBy(all, (info) => zoneOf(info.node));
  if (zones.size <= 1) return [...all];
  const lists = [...zones.values()];
  const result: NodeInfo[] = [];
  for (let i = 0; result.length < all.length; i++) {
    for (const list of lists) {
      const info = list[i];
      if (info !== undefined) result.push(info);
    }
  }
  return result;
}

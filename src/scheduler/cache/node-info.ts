/**
 * A node with the pods on it, added up. The cache owns and changes these; a scheduling cycle sees the snapshot's list and
 * reads only. Upstream: framework.NodeInfo.
 */
import type { Node, Pod, PodSpec } from '../../api/gen/core-v1.ts';
import { deepEqual } from '../../base/equal.ts';
import { hostPortsOf, type HostPort } from '../../component-helpers/host-ports.ts';
import {
  addAmounts,
  amountsOf,
  emptyAmounts,
  podRequests,
  type ResourceAmounts,
} from '../../component-helpers/pod-resources.ts';
import type { NodeTracker } from './node-tracker.ts';
import { quantityValue } from '../../api/quantity.ts';
import type { Stored } from '../../api/object.ts';

/** What a cycle sees of the cluster. */
export interface Snapshot {
  /** Interleaved over zones. */
  readonly nodes: readonly NodeInfo[];
  byName(name: string): NodeInfo | undefined;
  /** Nodes with pods that have any (anti-)affinity to pods. */
  readonly withAffinity: Iterable<NodeInfo>;
  /** Nodes with pods that keep others away. */
  readonly withRequiredAntiAffinity: Iterable<NodeInfo>;
  /** Which nodes changed. */
  readonly tracker: NodeTracker<NodeInfo>;
  /** Nodes with a taint that pods would rather not meet. */
  readonly preferNoScheduleNodes: number;
  /** On how many nodes an image is. */
  imageNodes(image: string): number;
}

export class NodeInfo {
  readonly name: string;
  node: Stored<Node>;
  readonly pods = new Map<string, Stored<Pod>>();
  allocatable: ResourceAmounts = emptyAmounts();
  allowedPods = 0;
  readonly requested: ResourceAmounts = emptyAmounts();
  nonZeroMilliCpu = 0;
  nonZeroMemoryBytes = 0;
  /** Empty for most nodes. */
  usedPorts: readonly HostPort[] = [];
  /** Pods with any (anti-)affinity to pods; mostly empty. */
  readonly podsWithAffinity = new Map<string, Stored<Pod>>();
  readonly podsWithRequiredAntiAffinity = new Map<string, Stored<Pod>>();
  /** The place in arrays by node; -1 without a tracker: a supposed node. */
  slot = -1;
  tracker: NodeTracker<NodeInfo> | undefined;
  /** Sizes of images by name, for ImageLocality. */
  images: ReadonlyMap<string, number> = new Map();

  /** `like` has read the same object already. */
  constructor(node: Stored<Node>, like?: NodeInfo) {
    this.name = node.metadata.name;
    this.node = node;
    if (like === undefined) this.setNode(node);
    else {
      this.allocatable = like.allocatable;
      this.allowedPods = like.allowedPods;
      this.images = like.images;
    }
  }

  /** Takes over a new version of the Node object. */
  setNode(node: Stored<Node>): void {
    this.node = node;
    this.allocatable = amountsOf(node.status?.allocatable);
    const pods = node.status?.allocatable?.['pods'];
    this.allowedPods = pods === undefined ? 0 : quantityValue(pods);
    this.images = new Map(
      (node.status?.images ?? []).flatMap((image) =>
        (image.names ?? []).map((name) => [name, Number(image.sizeBytes ?? 0)] as const),
      ),
    );
    this.tracker?.touch(this.slot);
  }

  /** Counts a pod in. The uid must be new. */
  addPod(pod: Stored<Pod>): void {
    const uid = pod.metadata.uid;
    this.pods.set(uid, pod);
    const affinity = pod.spec?.affinity;
    if (affinity?.podAffinity !== undefined || affinity?.podAntiAffinity !== undefined) {
      this.podsWithAffinity.set(uid, pod);
      if ((affinity.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).length > 0)
        this.podsWithRequiredAntiAffinity.set(uid, pod);
    }
    this.#count(pod, 1);
    const ports = hostPortsOf(pod);
    if (ports.length > 0) this.usedPorts = [...this.usedPorts, ...ports];
  }

  /** A copy that may be changed, for suppositions. What nobody changes is shared. */
  clone(): NodeInfo {
    const copy = new NodeInfo(this.node, this);
    for (const [uid, pod] of this.pods) copy.pods.set(uid, pod);
    for (const [uid, pod] of this.podsWithAffinity) copy.podsWithAffinity.set(uid, pod);
    for (const [uid, pod] of this.podsWithRequiredAntiAffinity) copy.podsWithRequiredAntiAffinity.set(uid, pod);
    addAmounts(copy.requested, this.requested);
    copy.nonZeroMilliCpu = this.nonZeroMilliCpu;
    copy.nonZeroMemoryBytes = this.nonZeroMemoryBytes;
    copy.usedPorts = this.usedPorts;
    return copy;
  }

  /**
   * Takes over a new version of a pod that is here; false, and nothing is done, when it counts otherwise. Most changes of
   * running pods are of their statuses: what was worked out about the node stays good.
   */
  renewPod(pod: Stored<Pod>): boolean {
    const uid = pod.metadata.uid;
    const known = this.pods.get(uid);
    if (known === undefined || !countsAlike(known, pod)) return false;
    for (const pods of [this.pods, this.podsWithAffinity, this.podsWithRequiredAntiAffinity])
      if (pods.has(uid)) pods.set(uid, pod);
    return true;
  }

  /** Counts a pod out; false when it was not here. */
  removePod(uid: string): boolean {
    const pod = this.pods.get(uid);
    if (pod === undefined) return false;
    this.pods.delete(uid);
    this.podsWithAffinity.delete(uid);
    this.podsWithRequiredAntiAffinity.delete(uid);
    this.#count(pod, -1);
    if (hostPortsOf(pod).length > 0) this.usedPorts = [...this.pods.values()].flatMap((p) => hostPortsOf(p));
    return true;
  }

  #count(pod: Stored<Pod>, sign: 1 | -1): void {
    const { requests, nonZero } = podRequests(pod);
    addAmounts(this.requested, requests, sign);
    this.nonZeroMilliCpu += sign * nonZero.milliCpu;
    this.nonZeroMemoryBytes += sign * nonZero.memoryBytes;
    this.tracker?.touch(this.slot);
  }
}

/** Whether two versions of a pod are the same to whoever places or evicts others. Shared parts cost nothing. */
function countsAlike(old: Stored<Pod>, now: Stored<Pod>): boolean {
  return (
    sameButForNode(old.spec, now.spec) &&
    old.metadata.deletionTimestamp === now.metadata.deletionTimestamp &&
    old.status?.startTime === now.status?.startTime &&
    deepEqual(old.metadata.labels, now.metadata.labels) &&
    deepEqual(podRequests(old), podRequests(now))
  );
}

/** An assumed pod does not name its node yet. */
function sameButForNode(old: PodSpec | undefined, now: PodSpec | undefined): boolean {
  return old === now || deepEqual({ ...old, nodeName: '' }, { ...now, nodeName: '' });
}

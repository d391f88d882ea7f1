/**
 * A node, its pods and the sums of their requests. The cache owns and changes these; a scheduling cycle only reads
 * the snapshot's list. Upstream: framework.NodeInfo.
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

/** The nodes and pods as one cycle sees them. */
export interface Snapshot {
  /** In an order that alternates between zones. */
  readonly nodes: readonly NodeInfo[];
  byName(name: string): NodeInfo | undefined;
  /** Nodes with pods that have any affinity or anti-affinity term. */
  readonly withAffinity: Iterable<NodeInfo>;
  /** Nodes with pods that have a required anti-affinity term. */
  readonly withRequiredAntiAffinity: Iterable<NodeInfo>;
  /** Records which nodes have changed. */
  readonly tracker: NodeTracker<NodeInfo>;
  /** The number of nodes with a PreferNoSchedule taint. */
  readonly preferNoScheduleNodes: number;
  /** For ImageLocality, which lowers the score of rare images. */
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
  /** Pods with any affinity or anti-affinity term; mostly empty. */
  readonly podsWithAffinity = new Map<string, Stored<Pod>>();
  readonly podsWithRequiredAntiAffinity = new Map<string, Stored<Pod>>();
  /** The node's index in arrays by slot; -1 for a copy that no tracker knows. */
  slot = -1;
  tracker: NodeTracker<NodeInfo> | undefined;
  /** Sizes of images by name, for ImageLocality. */
  images: ReadonlyMap<string, number> = new Map();

  /** `like`: a NodeInfo made from the same Node object, whose parsed parts are reused. */
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

  /** Adds a pod and its requests. The uid must be new. */
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

  /** A copy for what-if evaluation. Unchanged parts are shared. */
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
   * Replaces a pod by a new version. Returns false, and changes nothing, when the new version differs in a part that
   * the sums or the plugins depend on. Most updates of running pods change the status alone, so what was computed
   * about the node stays valid.
   */
  renewPod(pod: Stored<Pod>): boolean {
    const uid = pod.metadata.uid;
    const existing = this.pods.get(uid);
    if (existing === undefined || !countsAlike(existing, pod)) return false;
    for (const pods of [this.pods, this.podsWithAffinity, this.podsWithRequiredAntiAffinity])
      if (pods.has(uid)) pods.set(uid, pod);
    return true;
  }

  /** Removes a pod and its requests; false when the node does not have it. */
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

/**
 * Whether two versions of a pod are equal for placement and preemption. Parts that are the same object are not
 * compared.
 */
function countsAlike(old: Stored<Pod>, now: Stored<Pod>): boolean {
  return (
    sameButForNode(old.spec, now.spec) &&
    old.metadata.deletionTimestamp === now.metadata.deletionTimestamp &&
    old.status?.startTime === now.status?.startTime &&
    deepEqual(old.metadata.labels, now.metadata.labels) &&
    deepEqual(podRequests(old), podRequests(now))
  );
}

/** Compares specs apart from nodeName, which an assumed pod does not have yet. */
function sameButForNode(old: PodSpec | undefined, now: PodSpec | undefined): boolean {
  return old === now || deepEqual({ ...old, nodeName: '' }, { ...now, nodeName: '' });
}

/**
 * The extension points of the scheduling framework. A plugin implements the ones it needs. Upstream: scheduler framework
 * interface.go.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { NodeInfo, Snapshot } from '../cache/node-info.ts';
import type { ClusterEvent } from '../queue/cluster-event.ts';
import type { Status } from './status.ts';

/** What plugins of one cycle tell one another, by plugin name. Dropped after the cycle. */
export type CycleState = Map<string, unknown>;

/** A pod with what the queue knows of it. */
export interface QueuedPod {
  readonly pod: Pod;
  readonly attempts: number;
  /** When it entered the queue, monotonic milliseconds. */
  readonly queuedAtMs: number;
}

/** What PreFilter may say beside a rejection: only these nodes are worth a look. */
export interface PreFilterResult {
  readonly nodeNames?: ReadonlySet<string>;
}

/** What PostFilter achieved: the node that will be free. */
export interface PostFilterResult {
  readonly nominatedNode?: string;
}

/** Where a pod is being bound, and until when. */
export interface BindTarget {
  readonly nodeName: string;
  readonly signal: AbortSignal;
}

/** One plugin. Methods of the filter and score points must be pure and synchronous: they run per node. */
export interface SchedulerPlugin {
  readonly name: string;
  /** Holds a pod out of the queue (scheduling gates). */
  preEnqueue?(pod: Pod): Status | undefined;
  /** Negative: `a` first. Exactly one plugin of a profile sorts. */
  less?(a: QueuedPod, b: QueuedPod): number;
  preFilter?(state: CycleState, pod: Pod, snapshot: Snapshot): PreFilterResult | Status | undefined;
  filter?(state: CycleState, pod: Pod, node: NodeInfo): Status | undefined;
  /** Called when no node fits (preemption). */
  postFilter?(state: CycleState, pod: Pod, statuses: ReadonlyMap<string, Status>): Promise<PostFilterResult | Status | undefined>;
  /** `skip` leaves the plugin out of scoring. */
  preScore?(state: CycleState, pod: Pod, nodes: readonly NodeInfo[]): Status | undefined;
  /** 0 to 100 unless `normalize` brings it there. */
  score?(state: CycleState, pod: Pod, node: NodeInfo): number;
  /** Brings the raw scores of all nodes to 0..100, in place. */
  normalize?(state: CycleState, pod: Pod, scores: Float64Array): void;
  reserve?(state: CycleState, pod: Pod, nodeName: string): Status | undefined;
  unreserve?(state: CycleState, pod: Pod, nodeName: string): void;
  permit?(state: CycleState, pod: Pod, nodeName: string): { readonly status?: Status; readonly timeoutMs?: number };
  preBind?(state: CycleState, pod: Pod, target: BindTarget): Promise<Status | undefined>;
  /** `skip` passes on to the next binder. */
  bind?(state: CycleState, pod: Pod, target: BindTarget): Promise<Status | undefined>;
  postBind?(state: CycleState, pod: Pod, nodeName: string): void;
  /** Events that may make a pod this plugin rejected schedulable; `hint` looks closer. */
  readonly events?: readonly { readonly event: ClusterEvent; hint?(pod: Pod, oldObject: unknown, newObject: unknown): boolean }[];
}

/**
 * The extension points of the scheduling framework. A plugin implements the ones it needs. Upstream: scheduler framework
 * interface.go.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { NodeInfo, Snapshot } from '../cache/node-info.ts';
import type { ClusterEvent } from '../queue/cluster-event.ts';
import type { Status } from './status.ts';

/** State that plugins of one cycle share, by plugin name. Dropped after the cycle. Upstream: CycleState. */
export type CycleState = Map<string, unknown>;

/** A pod with what the queue knows of it. */
export interface QueuedPod {
  readonly pod: Stored<Pod>;
  readonly attempts: number;
  /** When it entered the queue, monotonic milliseconds. */
  readonly queuedAtMs: number;
}

/** What PreFilter may say beside a rejection: only these nodes are worth a look. */
export interface PreFilterResult {
  readonly nodeNames?: ReadonlySet<string>;
}

/** Pods that wait for room on a node that preemption made or makes. */
export interface Nominations {
  /** Pods nominated to the node, in no order. */
  on(nodeName: string): readonly Stored<Pod>[];
  /** Where the pod is promised a place: known before the API server and the pod's own status know it. */
  nodeOf(pod: Stored<Pod>): string | undefined;
  readonly changes: number;
  /** Calls back with the nodes whose nominations changed since, some perhaps twice; false: too long ago, all may have. */
  changesSince(changes: number, visit: (nodeName: string) => void): boolean;
}

/** Pods that would leave nodes, by the node's name, and how many of each node's a disruption budget protects. */
export type ProposedVictims = ReadonlyMap<
  string,
  { readonly victims: readonly Stored<Pod>[]; readonly violations: number }
>;

/** What a cycle that found no node knows. */
export interface PostFilterInput {
  readonly snapshot: Snapshot;
  /** Why each node was refused; nodes that are absent were not looked at and would be refused for good. */
  readonly statuses: ReadonlyMap<string, Status>;
  readonly filters: readonly SchedulerPlugin[];
  readonly nominations: Nominations;
  /** Some of the statuses are extenders' answers. */
  readonly checkedByExtenders?: boolean;
  /** What extenders leave of a proposal; absent: none has a say. Rejects when one fails that may not be ignored. */
  readonly askExtenders?: (proposed: ProposedVictims) => Promise<ProposedVictims>;
}

/** What PostFilter achieved: the node that will be free, and what must be done for it; or why it cannot help. */
export interface PostFilterResult {
  /** Empty: an earlier nomination is void. */
  readonly nominatedNode?: string;
  readonly message?: string;
  /** How many pods leave. */
  readonly victims?: number;
  /** Does what was decided. */
  readonly commit?: (signal: AbortSignal) => Promise<void>;
}

/** Where a pod is bound to. */
export interface BindTarget {
  readonly nodeName: string;
  readonly signal: AbortSignal;
}

/** A pod that might be on a node, or might not. */
export interface PodChange {
  readonly other: Stored<Pod>;
  readonly node: NodeInfo;
}

/** The nodes that will be scored, among all. */
export interface ScoredNodes {
  readonly nodes: readonly NodeInfo[];
  readonly snapshot: Snapshot;
}

/** What a node lacks for a pod, as text for people. */
export interface Lack {
  readonly what: string;
  /** How far away a fit is: 0 near, 1 as much again as is asked for. Orders nodes. */
  readonly distance: number;
}

/** Turns of an explanation on the event loop. */
export interface ExplainTurns {
  /** A promise to await when the turn has lasted long enough for others to have theirs. */
  next(): Promise<void> | undefined;
}

/** One plugin. Methods of the filter and score points must be pure and synchronous: they run per node. */
export interface SchedulerPlugin {
  readonly name: string;
  /**
   * `filter` and `score` depend on the node and on what `podClassKey` names of the pod alone: their answers are kept while
   * the node does not change.
   */
  readonly nodeLocal?: true;
  /** The scores of this `nodeLocal` plugin depend on more than pod and node, and are computed each time. */
  readonly scoresNeedMore?: boolean;
  /** Holds a pod out of the queue (scheduling gates). */
  preEnqueue?(pod: Stored<Pod>): Status | undefined;
  /** Negative: `a` first. Exactly one plugin of a profile sorts. */
  less?(a: QueuedPod, b: QueuedPod): number;
  preFilter?(state: CycleState, pod: Stored<Pod>, snapshot: Snapshot): PreFilterResult | Status | undefined;
  filter?(state: CycleState, pod: Stored<Pod>, node: NodeInfo): Status | undefined;
  /**
   * Computes what `explain` needs of the whole snapshot and keeps it in the state. Called once, when `filter` has refused a
   * first node. It walks over all pods, so it takes a turn per node.
   */
  prepareExplain?(state: CycleState, pod: Stored<Pod>, snapshot: Snapshot, turns: ExplainTurns): Promise<void>;
  /**
   * What a node that `filter` refused lacks, more closely than the reason says. On request only, never while scheduling. It is
   * called for every such node with one state, after `prepareExplain`.
   */
  explain?(state: CycleState, pod: Stored<Pod>, node: NodeInfo): readonly Lack[];
  /** What if `other` were on the node too? Changes the state PreFilter left, for preemption and nominated pods. */
  addPod?(state: CycleState, pod: Stored<Pod>, change: PodChange): void;
  /** What if `other` were not on the node? */
  removePod?(state: CycleState, pod: Stored<Pod>, change: PodChange): void;
  /** A copy of what PreFilter left, to be changed by `addPod` and `removePod`. */
  cloneState?(kept: unknown): unknown;
  /** Called when no node fits (preemption). */
  postFilter?(
    state: CycleState,
    pod: Stored<Pod>,
    input: PostFilterInput,
  ): PostFilterResult | Promise<PostFilterResult>;
  /** `skip` leaves the plugin out of scoring. */
  preScore?(state: CycleState, pod: Stored<Pod>, scored: ScoredNodes): Status | undefined;
  /** 0 to 100 unless `normalize` brings it there. */
  score?(state: CycleState, pod: Stored<Pod>, node: NodeInfo): number;
  /** Brings the raw scores of all nodes to 0..100, in place. */
  normalize?(state: CycleState, pod: Stored<Pod>, scores: Float64Array): void;
  reserve?(state: CycleState, pod: Stored<Pod>, nodeName: string): Status | undefined;
  unreserve?(state: CycleState, pod: Stored<Pod>, nodeName: string): void;
  permit?(
    state: CycleState,
    pod: Stored<Pod>,
    nodeName: string,
  ): { readonly status?: Status; readonly timeoutMs?: number };
  /** `skip`: PreBind has nothing to do for this pod and is left out. Else the pod says which node it is for while it takes. */
  preBindPreFlight?(state: CycleState, pod: Stored<Pod>, nodeName: string): Status | undefined;
  preBind?(state: CycleState, pod: Stored<Pod>, target: BindTarget): Promise<Status | undefined>;
  /** `skip` passes on to the next binder. */
  bind?(state: CycleState, pod: Stored<Pod>, target: BindTarget): Promise<Status | undefined>;
  postBind?(state: CycleState, pod: Stored<Pod>, nodeName: string): void;
  /** Events that may make a pod this plugin rejected schedulable; `hint` looks closer. */
  readonly events?: readonly {
    readonly event: ClusterEvent;
    hint?(pod: Stored<Pod>, oldObject: unknown, newObject: unknown): boolean;
  }[];
}

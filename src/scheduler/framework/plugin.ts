/**
 * The extension points of the scheduling framework. A plugin implements the ones it needs. Upstream: scheduler framework
 * interface.go.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Steps } from '../../base/steps.ts';
import type { NodeInfo, Snapshot } from '../cache/node-info.ts';
import type { ClusterEvent } from '../queue/cluster-event.ts';
import type { Status } from './status.ts';

/** State that plugins of one cycle share, by plugin name. Dropped after the cycle. Upstream: CycleState. */
export type CycleState = Map<string, unknown>;

/** A pod as the queue hands it out. */
export interface QueuedPod {
  readonly pod: Stored<Pod>;
  readonly attempts: number;
  /** When it entered the queue, monotonic milliseconds. */
  readonly queuedAtMs: number;
}

/** PreFilter's result beside a rejection: the only nodes that can be feasible. */
export interface PreFilterResult {
  readonly nodeNames?: ReadonlySet<string>;
}

/** Pods that are nominated to a node, for which preemption makes room. */
export interface Nominations {
  /** Pods nominated to the node, in no order. */
  on(nodeName: string): readonly Stored<Pod>[];
  /** The nominated node of the pod; it may not be in the pod's status yet. */
  nodeOf(pod: Stored<Pod>): string | undefined;
  readonly changes: number;
  /**
   * Calls back with the nodes whose nominations changed since `changes`, some perhaps twice. Returns false when the
   * log does not reach back that far.
   */
  changesSince(changes: number, visit: (nodeName: string) => void): boolean;
}

/** The proposed victims by node name, and how many of each node's a disruption budget protects. */
export type ProposedVictims = ReadonlyMap<
  string,
  { readonly victims: readonly Stored<Pod>[]; readonly violations: number }
>;

/** The input of PostFilter: what a cycle found that has no feasible node. */
export interface PostFilterInput {
  readonly snapshot: Snapshot;
  /** Why each node was rejected. Nodes that are absent were not examined; preemption cannot help there. */
  readonly statuses: ReadonlyMap<string, Status>;
  readonly filters: readonly SchedulerPlugin[];
  readonly nominations: Nominations;
  /** Some of the statuses come from extenders. */
  readonly checkedByExtenders?: boolean;
  /**
   * Has extenders process the proposal; absent: no extender supports preemption. Rejects when one fails that is not
   * ignorable.
   */
  readonly askExtenders?: (proposed: ProposedVictims) => Promise<ProposedVictims>;
}

/** PostFilter's result: the nominated node and the actions that free it, or why there is none. */
export interface PostFilterResult {
  /** Empty: an earlier nomination is cleared. */
  readonly nominatedNode?: string;
  readonly message?: string;
  /** For events; absent: none. */
  readonly victims?: number;
  /** Carries out the preemption. */
  readonly commit?: (signal: AbortSignal) => Promise<void>;
}

/** Where a pod is bound to. */
export interface BindTarget {
  readonly nodeName: string;
  readonly signal: AbortSignal;
}

/** A pod that is hypothetically added to a node or removed from it. */
export interface PodChange {
  readonly other: Stored<Pod>;
  readonly node: NodeInfo;
}

/** The feasible nodes, and the snapshot they are part of. */
export interface ScoredNodes {
  readonly nodes: readonly NodeInfo[];
  readonly snapshot: Snapshot;
}

/** What a node lacks for a pod, as text. */
export interface Lack {
  readonly what: string;
  /** How much is missing: 0 is near, 1 as much again as the pod requests. Nodes are sorted by it. */
  readonly distance: number;
}

/** Lets an explanation yield to the event loop. */
export interface ExplainTurns {
  /** A promise to await when the current turn has taken its time; undefined when it may go on. */
  next(): Promise<void> | undefined;
}

/** One plugin. Methods of the filter and score points must be pure and synchronous: they run per node. */
export interface SchedulerPlugin {
  readonly name: string;
  /**
   * The results of `filter` and `score` depend on the node and on the parts of the pod in `podClassKey` alone. They
   * are kept while the node does not change.
   */
  readonly nodeLocal?: true;
  /** Although the plugin is `nodeLocal`, its scores depend on more than pod and node and are computed each time. */
  readonly scoresNeedMore?: boolean;
  /** A status keeps the pod out of the active queue (scheduling gates). */
  preEnqueue?(pod: Stored<Pod>): Status | undefined;
  /** Negative: `a` first. Exactly one plugin of a profile implements it (QueueSort). */
  less?(a: QueuedPod, b: QueuedPod): number;
  /**
   * Work of PreFilter that may take long, in steps; its result stays in the state. Undefined for most pods. The cluster may
   * change between the steps.
   */
  prepare?(state: CycleState, pod: Stored<Pod>, snapshot: Snapshot): Steps<void> | undefined;
  preFilter?(state: CycleState, pod: Stored<Pod>, snapshot: Snapshot): PreFilterResult | Status | undefined;
  filter?(state: CycleState, pod: Stored<Pod>, node: NodeInfo): Status | undefined;
  /**
   * Computes what `explain` needs of the whole snapshot and keeps it in the state. Called once, when `filter` has
   * rejected a first node. It walks over all pods and may yield after each node.
   */
  prepareExplain?(state: CycleState, pod: Stored<Pod>, snapshot: Snapshot, turns: ExplainTurns): Promise<void>;
  /**
   * What a node that `filter` rejected lacks, in more detail than its reason. Called on request only, never while
   * scheduling, for each such node with one state, after `prepareExplain`.
   */
  explain?(state: CycleState, pod: Stored<Pod>, node: NodeInfo): readonly Lack[];
  /** Changes PreFilter's state as if `other` were on the node too; for preemption and nominated pods. */
  addPod?(state: CycleState, pod: Stored<Pod>, change: PodChange): void;
  /** Changes PreFilter's state as if `other` were not on the node. */
  removePod?(state: CycleState, pod: Stored<Pod>, change: PodChange): void;
  /** A copy of PreFilter's state that `addPod` and `removePod` may change. */
  cloneState?(kept: unknown): unknown;
  /** Called when no node fits (preemption). */
  postFilter?(
    state: CycleState,
    pod: Stored<Pod>,
    input: PostFilterInput,
  ): PostFilterResult | Promise<PostFilterResult>;
  /** `skip` leaves the plugin out of scoring. */
  preScore?(state: CycleState, pod: Stored<Pod>, scored: ScoredNodes): Status | undefined;
  /** From 0 to 100, unless `normalize` scales it. */
  score?(state: CycleState, pod: Stored<Pod>, node: NodeInfo): number;
  /** Scales the raw scores of all nodes to 0..100, in place. */
  normalize?(state: CycleState, pod: Stored<Pod>, scores: Float64Array): void;
  reserve?(state: CycleState, pod: Stored<Pod>, nodeName: string): Status | undefined;
  unreserve?(state: CycleState, pod: Stored<Pod>, nodeName: string): void;
  permit?(
    state: CycleState,
    pod: Stored<Pod>,
    nodeName: string,
  ): { readonly status?: Status; readonly timeoutMs?: number };
  /** `skip`: PreBind has nothing to do for this pod. Otherwise nominatedNodeName is written before PreBind runs. */
  preBindPreFlight?(state: CycleState, pod: Stored<Pod>, nodeName: string): Status | undefined;
  preBind?(state: CycleState, pod: Stored<Pod>, target: BindTarget): Promise<Status | undefined>;
  /** `skip`: the next Bind plugin is called. */
  bind?(state: CycleState, pod: Stored<Pod>, target: BindTarget): Promise<Status | undefined>;
  postBind?(state: CycleState, pod: Stored<Pod>, nodeName: string): void;
  /** Events that may make a pod schedulable that this plugin rejected; `hint` decides for the single event. */
  readonly events?: readonly {
    readonly event: ClusterEvent;
    hint?(pod: Stored<Pod>, oldObject: unknown, newObject: unknown): boolean;
  }[];
}

/**
 * Results about a DaemonSet's nodes and pods, kept up to date with their changes: a sync examines only nodes where
 * something changed. Upstream: getNodesToDaemonPods, podsShouldBeOnNode, rollingUpdate and updateDaemonSetStatus walk
 * over all of them at each sync; the results are the same.
 *
 * Invariant: after {@link DaemonTally.update} everything is as if all nodes had been examined again. A node's result
 * depends on the set, its revision, the node, the pods on it, and the time where pods must be ready for a while. A
 * change of any of these marks the nodes it concerns.
 */
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import type { LabelMatcher } from '../../api/label-selector.ts';
import type { Stored } from '../../api/object.ts';
import { allSteps, StepMeter, type Steps } from '../../base/steps.ts';
import type { Informer } from '../../client/informer.ts';
import { TEMPLATE_GENERATION } from '../../api/defaults/apps.ts';
import { daemonPodNode } from '../../component-helpers/daemon-pods.ts';
import { availableAtMs } from '../../component-helpers/pods.ts';
import { createTallies, type Tallies, type Tally } from '../pod-tallies.ts';
import { REQUIREMENTS_PER_TURN } from '../selecting-owners.ts';
import { placementSize } from './daemon-sets.ts';
import { viewNode, type Moment, type NodeView } from './node-view.ts';
import { isNothing, planPods, type DaemonPlan } from './plan.ts';
import {
  planRollingUpdate,
  rolloutOf,
  type NodeRollout,
  type RollingStep,
  type RollingTurn,
} from './rolling-update.ts';
import { countNode, type NodeCounts } from './status.ts';

export type NodeLister = Pick<Informer<Node>, 'get' | 'list'>;

type Counts = { -readonly [K in keyof NodeCounts]: number };

interface NodeFacts {
  readonly counts: NodeCounts;
  readonly rollout: NodeRollout;
  /** Pods must be created or deleted, apart from a rolling update. */
  readonly isPlanned: boolean;
  /** When its ready pods become available, or became so. */
  readonly availableAtMs: readonly number[];
}

/** The nodes and pods of one set. */
export class DaemonTally implements Tally {
  readonly selector: LabelMatcher;
  readonly #nodes: NodeLister;
  /** By node, by uid. */
  readonly #pods = new Map<string, Map<string, Stored<Pod>>>();
  readonly #nodeOfPod = new Map<string, string>();
  /** Pods without a node name. */
  readonly #unplaced = new Map<string, Stored<Pod>>();
  readonly #released = new Map<string, Stored<Pod>>();
  readonly #facts = new Map<string, NodeFacts>();
  readonly #counts: Counts = { desired: 0, current: 0, ready: 0, available: 0, updated: 0, misscheduled: 0 };
  #takingPart = 0;
  #serving = 0;
  /** Nodes with pods to create or delete, apart from a rolling update. */
  readonly #planned = new Set<string>();
  readonly #steps: Readonly<Record<RollingTurn, Map<string, RollingStep>>> = {
    now: new Map(),
    'in turn': new Map(),
    'once spare': new Map(),
  };
  /** When the pods of a node become available, for nodes with such pods. */
  readonly #availableAtMs = new Map<string, readonly number[]>();
  readonly #changed = new Set<string>();
  #moment: Moment | undefined;

  constructor(selector: LabelMatcher, nodes: NodeLister, pods: readonly Stored<Pod>[]) {
    this.selector = selector;
    this.#nodes = nodes;
    for (const pod of pods) this.put(pod);
    for (const node of nodes.list()) this.nodeChanged(node);
  }

  put(pod: Stored<Pod>): void {
    const { uid, labels } = pod.metadata;
    this.remove(uid);
    if (!this.selector.matches(labels)) {
      this.#released.set(uid, pod);
      return;
    }
    const nodeName = daemonPodNode(pod);
    if (nodeName === undefined) {
      this.#unplaced.set(uid, pod);
      return;
    }
    const there = this.#pods.get(nodeName);
    if (there === undefined) this.#pods.set(nodeName, new Map([[uid, pod]]));
    else there.set(uid, pod);
    this.#nodeOfPod.set(uid, nodeName);
    this.#changed.add(nodeName);
  }

  remove(uid: string): void {
    this.#released.delete(uid);
    this.#unplaced.delete(uid);
    const nodeName = this.#nodeOfPod.get(uid);
    if (nodeName === undefined) return;
    this.#nodeOfPod.delete(uid);
    const there = this.#pods.get(nodeName);
    there?.delete(uid);
    if (there?.size === 0) this.#pods.delete(nodeName);
    this.#changed.add(nodeName);
  }

  /** The node was added, changed or deleted. */
  nodeChanged({ metadata }: Stored<Node>): void {
    this.#changed.add(metadata.name);
  }

  /** Pods that the selector no longer matches, to be released. */
  toRelease(): Stored<Pod>[] {
    return [...this.#released.values()];
  }

  /** The pods that the selector matches. */
  pods(): Stored<Pod>[] {
    return [...this.#pods.values(), this.#unplaced].flatMap((there) => [...there.values()]);
  }

  /** Recomputes the results of changed nodes for this moment. */
  update(moment: Moment): void {
    allSteps(this.updateSteps(moment));
  }

  /** The same in steps: the set's template may have thousands of affinity terms, which each node is compared with. */
  *updateSteps(moment: Moment): Steps<void> {
    if (this.#moment === undefined || !haveSameResult(this.#moment, moment)) this.#markAll();
    else this.#markAged(this.#moment.nowMs, moment.nowMs);
    this.#moment = moment;
    const meter = new StepMeter(REQUIREMENTS_PER_TURN);
    const size = placementSize(moment.set);
    // What changes meanwhile is visited as well.
    for (const nodeName of this.#changed) {
      this.#recompute(this.#view(moment, nodeName));
      this.#changed.delete(nodeName);
      if (meter.endsStep(size)) yield;
    }
  }

  /** The number of nodes of each kind, when last computed. */
  counts(): NodeCounts {
    return this.#counts;
  }

  /** The pods to create and delete, apart from a rolling update. */
  plan(): DaemonPlan {
    const moment = this.#moment;
    if (moment === undefined) throw new Error('a tally is asked before it has looked');
    return planPods([...this.#planned].map((nodeName) => this.#view(moment, nodeName)));
  }

  /** The next step of a rolling update. */
  rollingStep(): RollingStep {
    if (this.#moment === undefined) throw new Error('a tally is asked before it has looked');
    const steps = this.#steps;
    return planRollingUpdate(this.#moment.set, {
      desired: this.#counts.desired,
      takingPart: this.#takingPart,
      serving: this.#serving,
      steps: {
        now: steps.now.values(),
        'in turn': steps['in turn'].values(),
        'once spare': steps['once spare'].values(),
      },
    });
  }

  #view(moment: Moment, nodeName: string): NodeView {
    const node = this.#nodes.get({ name: nodeName });
    return viewNode(moment, { nodeName, node, pods: this.#pods.get(nodeName)?.values() ?? [] });
  }

  #markAll(): void {
    for (const nodeName of this.#facts.keys()) this.#changed.add(nodeName);
  }

  /** A wall clock may be set back, so a pod that was available may be unavailable again. */
  #markAged(beforeMs: number, nowMs: number): void {
    if (beforeMs === nowMs) return;
    for (const [nodeName, times] of this.#availableAtMs) {
      if (times.some((atMs) => atMs <= beforeMs !== atMs <= nowMs)) this.#changed.add(nodeName);
    }
  }

  #recompute(view: NodeView): void {
    const { nodeName } = view;
    const facts = factsOf(view);
    const before = this.#facts.get(nodeName);
    if (before !== undefined) this.#add(before, -1);
    this.#planned.delete(nodeName);
    for (const steps of Object.values(this.#steps)) steps.delete(nodeName);
    this.#availableAtMs.delete(nodeName);
    if (facts === undefined) {
      this.#facts.delete(nodeName);
      return;
    }
    this.#facts.set(nodeName, facts);
    this.#add(facts, 1);
    if (facts.isPlanned) this.#planned.add(nodeName);
    if (facts.availableAtMs.length > 0) this.#availableAtMs.set(nodeName, facts.availableAtMs);
    const { step } = facts.rollout;
    if (step !== undefined) this.#steps[step.when].set(nodeName, step);
  }

  #add({ counts, rollout }: NodeFacts, sign: 1 | -1): void {
    for (const kind of Object.keys(counts) as (keyof Counts)[]) this.#counts[kind] += sign * counts[kind];
    if (rollout.takesPart) this.#takingPart += sign;
    if (rollout.serves === true) this.#serving += sign;
  }
}

/** Undefined: there is neither a node nor a pod. */
function factsOf(view: NodeView): NodeFacts | undefined {
  if (!view.isKnown && view.pods.length === 0) return undefined;
  const minReadySeconds = view.set.spec?.minReadySeconds ?? 0;
  const times = minReadySeconds === 0 ? [] : view.pods.map((pod) => availableAtMs(pod, minReadySeconds));
  return {
    counts: countNode(view),
    rollout: rolloutOf(view),
    isPlanned: !isNothing(planPods([view])),
    availableAtMs: times.filter((atMs) => atMs !== Infinity),
  };
}

/** Whether the result for an unchanged node stays the same, apart from time. */
function haveSameResult(a: Moment, b: Moment): boolean {
  const [{ metadata: was }, { metadata: is }] = [a.set, b.set];
  return (
    was.generation !== undefined &&
    was.generation === is.generation &&
    was.annotations?.[TEMPLATE_GENERATION] === is.annotations?.[TEMPLATE_GENERATION] &&
    a.hash === b.hash
  );
}

/** The tallies of all sets. The pod informer needs the index of pods by their controllers. */
export function createDaemonTallies(pods: Informer<Pod>, nodes: Informer<Node>): Tallies<DaemonTally, LabelMatcher> {
  const tallies = createTallies(pods, {
    make: (selector: LabelMatcher, owned) => new DaemonTally(selector, nodes, owned),
    isBy: (tally: DaemonTally, selector) => tally.selector.toString() === selector.toString(),
  });
  const nodeChanged = (node: Stored<Node>): void => {
    for (const tally of tallies.all()) tally.nodeChanged(node);
  };
  nodes.addHandler({ onAdd: nodeChanged, onUpdate: (_, node) => nodeChanged(node), onDelete: nodeChanged });
  return tallies;
}

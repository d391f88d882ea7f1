/**
 * What plugins that look at pod and node alone said about each node for one class of pods, in arrays by the node's slot. An
 * answer holds while the node's generation does. Nothing is allocated per node once the arrays stand.
 */
import { Lru } from '../../base/lru.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { NodeInfo } from '../cache/node-info.ts';
import { grownTo, type NodeTracker } from '../cache/node-tracker.ts';
import type { CycleState, SchedulerPlugin } from './plugin.ts';
import { podClassKey } from './pod-class.ts';
import { runFilters } from './run-filters.ts';
import type { Status } from './status.ts';

const CLASSES = 32;

/** All classes of one profile. */
export class ClassMemories {
  readonly #memories = new Lru<string, ClassMemory>(CLASSES);

  /** What plugins look up beside pod and node has changed. */
  forget(): void {
    this.#memories.clear();
  }

  /** The memory for the pod's class; `filters`: those that are asked, in order. */
  of(pod: Stored<Pod>, filters: readonly SchedulerPlugin[], tracker: NodeTracker<NodeInfo>): ClassMemory {
    const key = podClassKey(pod);
    const known = this.#memories.get(key);
    if (known?.fits(filters, tracker) === true) return known;
    const made = new ClassMemory(filters, tracker);
    this.#memories.set(key, made);
    return made;
  }
}

interface Scores {
  readonly plugin: SchedulerPlugin;
  /** Generation and one; 0: never. */
  seen: Uint32Array;
  values: Float64Array;
}

/** All nodes refuse a class of pods. What has changed since must be looked at again. */
export interface Refusals {
  /** The snapshot's list: another one when nodes came or left. */
  readonly nodes: readonly NodeInfo[];
  /** The tracker's, when this was found. */
  readonly sequence: number;
  /** Never changed: many pods' decisions share it. */
  readonly statuses: ReadonlyMap<string, Status>;
  /** Nodes that refuse only for the pods that are expected there. */
  readonly expecting: ReadonlySet<NodeInfo>;
}

export class ClassMemory {
  readonly #filters: readonly SchedulerPlugin[];
  readonly #tracker: NodeTracker<NodeInfo>;
  #seen = new Uint32Array(0);
  readonly #statuses: (Status | undefined)[] = [];
  readonly #scores: Scores[] = [];
  /** What all nodes said when last none would do; only where nobody but the filters in here was asked. */
  refusals: Refusals | undefined;

  constructor(filters: readonly SchedulerPlugin[], tracker: NodeTracker<NodeInfo>) {
    this.#filters = filters;
    this.#tracker = tracker;
  }

  /** Whether it was made for these. */
  fits(filters: readonly SchedulerPlugin[], tracker: NodeTracker<NodeInfo>): boolean {
    return (
      this.#tracker === tracker &&
      this.#filters.length === filters.length &&
      this.#filters.every((plugin, i) => plugin === filters[i])
    );
  }

  /** Makes room for all slots there are; call once per cycle. */
  prepare(): void {
    this.#seen = grownTo(this.#seen, this.#tracker.generations.length, (n) => new Uint32Array(n));
  }

  /** The first rejection among the filters. */
  filter(state: CycleState, pod: Stored<Pod>, node: NodeInfo): Status | undefined {
    const { slot } = node;
    const generation = (this.#tracker.generations[slot] as number) + 1;
    if (this.#seen[slot] === generation) return this.#statuses[slot];
    const status = runFilters(this.#filters, state, { pod, node });
    this.#seen[slot] = generation;
    this.#statuses[slot] = status;
    return status;
  }

  /** Fills in the plugin's raw scores of the nodes. */
  score(plugin: SchedulerPlugin, state: CycleState, { pod, nodes, into }: ScoreOrder): void {
    const { generations } = this.#tracker;
    const kept = this.#scoresOf(plugin);
    const { seen, values } = kept;
    for (let i = 0; i < nodes.length; i++) {
      const node = nodes[i] as NodeInfo;
      const { slot } = node;
      const generation = (generations[slot] as number) + 1;
      if (seen[slot] !== generation) {
        values[slot] = plugin.score?.(state, pod, node) ?? 0;
        seen[slot] = generation;
      }
      into[i] = values[slot] as number;
    }
  }

  #scoresOf(plugin: SchedulerPlugin): Scores {
    const { length } = this.#tracker.generations;
    let kept = this.#scores.find((one) => one.plugin === plugin);
    if (kept === undefined)
      this.#scores.push((kept = { plugin, seen: new Uint32Array(length), values: new Float64Array(length) }));
    kept.seen = grownTo(kept.seen, length, (n) => new Uint32Array(n));
    kept.values = grownTo(kept.values, length, (n) => new Float64Array(n));
    return kept;
  }
}

/** The pod and the nodes to score. */
interface ScoreOrder {
  readonly pod: Stored<Pod>;
  readonly nodes: readonly NodeInfo[];
  readonly into: Float64Array;
}

/**
 * Remembers what plugins that depend on pod and node alone returned for each node and one class of pods, in arrays by
 * the node's slot. A result is valid while the node's generation is the same. Once the arrays exist, nothing is
 * allocated per node.
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

/** The memories of all pod classes of one profile. */
export class ClassMemories {
  readonly #memories = new Lru<string, ClassMemory>(CLASSES);

  /** Called when objects that such plugins read beside pod and node have changed. */
  forget(): void {
    this.#memories.clear();
  }

  /** The memory of the pod's class. `filters`: the filter plugins that run, in order. */
  of(pod: Stored<Pod>, filters: readonly SchedulerPlugin[], tracker: NodeTracker<NodeInfo>): ClassMemory {
    const key = podClassKey(pod);
    const cached = this.#memories.get(key);
    if (cached?.fits(filters, tracker) === true) return cached;
    const made = new ClassMemory(filters, tracker);
    this.#memories.set(key, made);
    return made;
  }
}

interface Scores {
  readonly plugin: SchedulerPlugin;
  /** The generation plus one; 0: never computed. */
  seen: Uint32Array;
  values: Float64Array;
}

/** The result that no node fits a class of pods. Nodes that changed since then must be filtered again. */
export interface Refusals {
  /** The snapshot's list; it is another array after nodes were added or removed. */
  readonly nodes: readonly NodeInfo[];
  /** The tracker's sequence when this was found. */
  readonly sequence: number;
  /** Not to be changed: decisions about many pods share it. */
  readonly statuses: ReadonlyMap<string, Status>;
  /** Nodes that are rejected only because of their nominated pods. */
  readonly expecting: ReadonlySet<NodeInfo>;
}

export class ClassMemory {
  readonly #filters: readonly SchedulerPlugin[];
  readonly #tracker: NodeTracker<NodeInfo>;
  #seen = new Uint32Array(0);
  readonly #statuses: (Status | undefined)[] = [];
  readonly #scores: Scores[] = [];
  /** The statuses of all nodes when last none was feasible; kept only where no other filter ran. */
  refusals: Refusals | undefined;

  constructor(filters: readonly SchedulerPlugin[], tracker: NodeTracker<NodeInfo>) {
    this.#filters = filters;
    this.#tracker = tracker;
  }

  /** Whether it was made for these filters and this tracker. */
  fits(filters: readonly SchedulerPlugin[], tracker: NodeTracker<NodeInfo>): boolean {
    return (
      this.#tracker === tracker &&
      this.#filters.length === filters.length &&
      this.#filters.every((plugin, i) => plugin === filters[i])
    );
  }

  /** Grows the arrays to the number of slots; call it once per cycle. */
  prepare(): void {
    this.#seen = grownTo(this.#seen, this.#tracker.generations.length, (n) => new Uint32Array(n));
  }

  /** The first rejection by the filters. */
  filter(state: CycleState, pod: Stored<Pod>, node: NodeInfo): Status | undefined {
    const { slot } = node;
    const generation = (this.#tracker.generations[slot] as number) + 1;
    if (this.#seen[slot] === generation) return this.#statuses[slot];
    const status = runFilters(this.#filters, state, { pod, node });
    this.#seen[slot] = generation;
    this.#statuses[slot] = status;
    return status;
  }

  /** Writes the plugin's raw scores of the nodes into the array. */
  score(plugin: SchedulerPlugin, state: CycleState, { pod, nodes, into }: ScoreOrder): void {
    const { generations } = this.#tracker;
    const cached = this.#scoresOf(plugin);
    const { seen, values } = cached;
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
    let cached = this.#scores.find((one) => one.plugin === plugin);
    if (cached === undefined)
      this.#scores.push((cached = { plugin, seen: new Uint32Array(length), values: new Float64Array(length) }));
    cached.seen = grownTo(cached.seen, length, (n) => new Uint32Array(n));
    cached.values = grownTo(cached.values, length, (n) => new Float64Array(n));
    return cached;
  }
}

/** The pod and the nodes to score. */
interface ScoreOrder {
  readonly pod: Stored<Pod>;
  readonly nodes: readonly NodeInfo[];
  readonly into: Float64Array;
}

/**
 * Sums over nodes by topology value, updated from the nodes that changed: pods of one template need the same sums in
 * every cycle. A value is kept, with 0, as long as a node has it.
 */
import { Lru } from '../../base/lru.ts';
import type { NodeInfo, Snapshot } from '../cache/node-info.ts';
import type { NodeTracker } from '../cache/node-tracker.ts';

/** Which sum is computed. Equal keys must mean equal sums. */
export interface TallyQuestion {
  readonly key: string;
  /** Undefined: the node is not counted. */
  valueOf(node: NodeInfo): string | undefined;
  count(node: NodeInfo): number;
}

/** Remembered sums. */
export interface TopologyTallies {
  /** The current sums. Shared: do not change them. Valid until the next change of a node. */
  of(question: TallyQuestion, snapshot: Snapshot): ReadonlyMap<string, number>;
}

const MAX_TALLIES = 128;

export function createTopologyTallies(): TopologyTallies {
  const memory = new Lru<string, Tally>(MAX_TALLIES);
  return {
    of(question, { tracker }) {
      let tally = memory.get(question.key);
      if (tally?.tracker !== tracker) memory.set(question.key, (tally = new Tally(tracker)));
      return tally.update(question);
    },
  };
}

class Tally {
  readonly tracker: NodeTracker<NodeInfo>;
  readonly #sums = new Map<string, number>();
  /** The number of nodes by value. */
  readonly #nodes = new Map<string, number>();
  readonly #values: (string | undefined)[] = [];
  readonly #counts: number[] = [];
  #sequence = -1;

  constructor(tracker: NodeTracker<NodeInfo>) {
    this.tracker = tracker;
  }

  update(question: TallyQuestion): ReadonlyMap<string, number> {
    const { tracker } = this;
    const visit = (slot: number): void => this.#visit(slot, question);
    if (this.#sequence < 0 || !tracker.changesSince(this.#sequence, visit))
      for (let slot = 0; slot < tracker.infos.length; slot++) visit(slot);
    this.#sequence = tracker.sequence;
    return this.#sums;
  }

  #visit(slot: number, question: TallyQuestion): void {
    const info = this.tracker.infos[slot];
    const value = info === undefined ? undefined : question.valueOf(info);
    const count = info === undefined || value === undefined ? 0 : question.count(info);
    const before = this.#values[slot];
    if (before === value) {
      const difference = count - (this.#counts[slot] ?? 0);
      if (value !== undefined && difference !== 0) this.#sums.set(value, (this.#sums.get(value) ?? 0) + difference);
    } else {
      if (before !== undefined) this.#leave(before, this.#counts[slot] ?? 0);
      if (value !== undefined) {
        this.#nodes.set(value, (this.#nodes.get(value) ?? 0) + 1);
        this.#sums.set(value, (this.#sums.get(value) ?? 0) + count);
      }
    }
    this.#values[slot] = value;
    this.#counts[slot] = count;
  }

  #leave(value: string, count: number): void {
    const left = (this.#nodes.get(value) ?? 0) - 1;
    if (left > 0) {
      this.#nodes.set(value, left);
      this.#sums.set(value, (this.#sums.get(value) ?? 0) - count);
    } else {
      this.#nodes.delete(value);
      this.#sums.delete(value);
    }
  }
}

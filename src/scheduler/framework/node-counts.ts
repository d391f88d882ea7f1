/**
 * Counts pods of a node that match something, and keeps each count until the node changes: pods of one template count
 * the same, and few nodes change between cycles.
 */
import { Lru } from '../../base/lru.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { NodeInfo } from '../cache/node-info.ts';
import { grownTo, type NodeTracker } from '../cache/node-tracker.ts';

/** Counters by key. */
export interface NodeCounts {
  /** The counter for a predicate. Equal keys must mean equal predicates. */
  of(key: string, matches: (pod: Stored<Pod>) => boolean): (node: NodeInfo) => number;
}

interface CachedCounts {
  tracker: NodeTracker<NodeInfo> | undefined;
  /** By slot: the generation plus one; 0: never counted. */
  seen: Uint32Array;
  counts: Uint32Array;
}

const MAX_COUNTERS = 256;

export function createNodeCounts(): NodeCounts {
  const memory = new Lru<string, CachedCounts>(MAX_COUNTERS);
  return {
    of(key, matches) {
      let cached = memory.get(key);
      if (cached === undefined)
        memory.set(key, (cached = { tracker: undefined, seen: new Uint32Array(0), counts: new Uint32Array(0) }));
      const remembered = cached;
      return (node) => {
        if (node.pods.size === 0) return 0;
        // A copy for what-if evaluation has no slot and is counted each time.
        return node.tracker === undefined ? countPods(node, matches) : cachedCount(remembered, node, matches);
      };
    },
  };
}

function cachedCount(remembered: CachedCounts, node: NodeInfo, matches: (pod: Stored<Pod>) => boolean): number {
  const { slot } = node;
  const tracker = node.tracker as NodeTracker<NodeInfo>;
  const { generations } = tracker;
  if (remembered.tracker !== tracker) {
    remembered.tracker = tracker;
    remembered.seen = new Uint32Array(generations.length);
    remembered.counts = new Uint32Array(generations.length);
  } else if (remembered.seen.length < generations.length) {
    remembered.seen = grownTo(remembered.seen, generations.length, (n) => new Uint32Array(n));
    remembered.counts = grownTo(remembered.counts, generations.length, (n) => new Uint32Array(n));
  }
  const generation = (generations[slot] as number) + 1;
  if (remembered.seen[slot] === generation) return remembered.counts[slot] as number;
  const count = countPods(node, matches);
  remembered.seen[slot] = generation;
  remembered.counts[slot] = count;
  return count;
}

function countPods(node: NodeInfo, matches: (pod: Stored<Pod>) => boolean): number {
  let count = 0;
  for (const pod of node.pods.values()) if (matches(pod)) count++;
  return count;
}

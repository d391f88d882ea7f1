/**
 * How many pods of a node match something, remembered until the node changes: pods of one template ask the same of
 * every node, and from one cycle to the next only a few nodes have changed.
 */
import { Lru } from '../../base/lru.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { NodeInfo } from '../cache/node-info.ts';

/** Counts by what is asked. */
export interface NodeCounts {
  /** A counter for one question; equal `key`s must mean equal questions. */
  of(key: string, matches: (pod: Pod) => boolean): (node: NodeInfo) => number;
}

const QUESTIONS = 256;

/** Creates an empty memory. */
export function createNodeCounts(): NodeCounts {
  const memory = new Lru<string, WeakMap<NodeInfo, { generation: number; count: number }>>(QUESTIONS);
  return {
    of(key, matches) {
      let known = memory.get(key);
      if (known === undefined) memory.set(key, (known = new WeakMap()));
      const counts = known;
      return (node) => {
        if (node.pods.size === 0) return 0;
        const found = counts.get(node);
        if (found !== undefined && found.generation === node.generation) return found.count;
        let count = 0;
        for (const pod of node.pods.values()) if (matches(pod)) count++;
        if (found === undefined) counts.set(node, { generation: node.generation, count });
        else {
          found.generation = node.generation;
          found.count = count;
        }
        return count;
      };
    },
  };
}

/** Sums of matching pods by topology domain, over the nodes that a constraint includes. */
import type { NodeInfo, Snapshot } from '../../cache/node-info.ts';
import type { TopologyTallies } from '../../framework/topology-tallies.ts';
import type { SpreadConstraint } from './spread-constraints.ts';
import type { SpreadKeys } from './spread-keys.ts';

/** Nodes that have the topology keys of all constraints of a pod. Each node is checked once for all constraints. */
export class NodesWithAllKeys {
  readonly #constraints: readonly SpreadConstraint[];
  readonly #answers = new Map<object, boolean>();
  /** Equal for the same topology keys. */
  readonly key: number;

  constructor(constraints: readonly SpreadConstraint[], keys: SpreadKeys) {
    this.#constraints = constraints;
    this.key = keys.of(constraints.map(({ topologyKey }) => topologyKey).join());
  }

  has({ node }: NodeInfo): boolean {
    let answer = this.#answers.get(node);
    if (answer === undefined) {
      const { labels } = node.metadata;
      answer = labels !== undefined && this.#constraints.every(({ topologyKey }) => Object.hasOwn(labels, topologyKey));
      this.#answers.set(node, answer);
    }
    return answer;
  }
}

/** The sums by domain; only nodes in `together` count. */
export function domainSums(
  constraint: SpreadConstraint,
  together: NodesWithAllKeys,
  { snapshot, tallies }: { snapshot: Snapshot; tallies: TopologyTallies },
): ReadonlyMap<string, number> {
  return tallies.of(
    {
      key: `${constraint.key}|${together.key}`,
      valueOf: (node) =>
        together.has(node) && constraint.includes(node)
          ? node.node.metadata.labels?.[constraint.topologyKey]
          : undefined,
      count: (node) => constraint.count(node),
    },
    snapshot,
  );
}

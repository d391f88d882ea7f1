/** Matching pods by domain, of the nodes that take part in a constraint. */
import type { NodeInfo, Snapshot } from '../../cache/node-info.ts';
import type { TopologyTallies } from '../../framework/topology-tallies.ts';
import type { SpreadConstraint } from './spread-constraints.ts';

/** Whether the node has the labels of all constraints. */
export function hasAllKeys(constraints: readonly SpreadConstraint[], { node }: NodeInfo): boolean {
  const { labels } = node.metadata;
  return labels !== undefined && constraints.every((c) => Object.hasOwn(labels, c.topologyKey));
}

/** The sums; nodes without the labels of `together` take no part. */
export function domainSums(
  constraint: SpreadConstraint,
  together: readonly SpreadConstraint[],
  { snapshot, tallies }: { snapshot: Snapshot; tallies: TopologyTallies },
): ReadonlyMap<string, number> {
  return tallies.of(
    {
      key: `${constraint.key}|${together.map(({ topologyKey }) => topologyKey).join()}`,
      valueOf: (node) =>
        hasAllKeys(together, node) && constraint.includes(node)
          ? node.node.metadata.labels?.[constraint.topologyKey]
          : undefined,
      count: (node) => constraint.count(node),
    },
    snapshot,
  );
}

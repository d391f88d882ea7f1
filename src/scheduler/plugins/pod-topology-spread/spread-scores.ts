/**
 * Scores of soft spread constraints: a node scores higher the fewer matching pods its domains have. Upstream:
 * podtopologyspread/scoring.go.
 */
import type { NodeInfo } from '../../cache/node-info.ts';
import type { ScoredNodes } from '../../framework/plugin.ts';
import type { TopologyTallies } from '../../framework/topology-tallies.ts';
import { domainSums, NodesWithAllKeys } from './domain-sums.ts';
import type { SpreadConstraint } from './spread-constraints.ts';
import type { SpreadKeys } from './spread-keys.ts';

const HOSTNAME = 'kubernetes.io/hostname';
/** The score of a node that is left out of normalization. */
const LEFT_OUT = -1;

export interface SpreadScores {
  readonly constraints: readonly SpreadConstraint[];
  /** Per constraint: matching pods by topology value; undefined for the host name, where pods are counted per node. */
  readonly counts: readonly (ReadonlyMap<string, number> | undefined)[];
  /** Per constraint: a weight that compensates for the number of domains. */
  readonly weights: readonly number[];
  readonly leftOut: ReadonlySet<NodeInfo>;
}

/** Counts the domains of the nodes to be scored. `requireAll`: nodes without all topology keys are left out. */
export function prepareSpreadScores(
  constraints: readonly SpreadConstraint[],
  { nodes, snapshot }: ScoredNodes,
  { requireAll, tallies, keys }: { requireAll: boolean; tallies: TopologyTallies; keys: SpreadKeys },
): SpreadScores {
  const together = new NodesWithAllKeys(requireAll ? constraints : [], keys);
  const leftOut = new Set(requireAll ? nodes.filter((node) => !together.has(node)) : []);
  // No node has a score that counts.
  if (leftOut.size === nodes.length) return { constraints, counts: [], weights: [], leftOut };
  const counts = constraints.map((c) => {
    if (c.topologyKey === HOSTNAME) return undefined;
    const sums = domainSums(c, together, { snapshot, tallies });
    const domains = new Map<string, number>();
    for (const node of nodes) {
      const value = node.node.metadata.labels?.[c.topologyKey];
      if (value !== undefined && !leftOut.has(node) && !domains.has(value)) domains.set(value, sums.get(value) ?? 0);
    }
    return domains;
  });
  const weights = counts.map((domains) =>
    Math.log((domains === undefined ? nodes.length - leftOut.size : domains.size) + 2),
  );
  return { constraints, counts, weights, leftOut };
}

/** The raw score of a node: higher is worse. */
export function spreadScore({ constraints, counts, weights, leftOut }: SpreadScores, node: NodeInfo): number {
  if (leftOut.has(node)) return LEFT_OUT;
  let score = 0;
  for (let i = 0; i < constraints.length; i++) {
    const constraint = constraints[i] as SpreadConstraint;
    const value = node.node.metadata.labels?.[constraint.topologyKey];
    if (value === undefined) continue;
    const domains = counts[i];
    const count = domains === undefined ? constraint.count(node) : (domains.get(value) ?? 0);
    score += count * (weights[i] ?? 0) + (constraint.maxSkew - 1);
  }
  return Math.round(score);
}

/** Turns raw scores into 0..100, higher is better. */
export function normalizeSpread(scores: Float64Array): void {
  let least = Infinity;
  let greatest = 0;
  for (const score of scores) {
    if (score === LEFT_OUT) continue;
    least = Math.min(least, score);
    greatest = Math.max(greatest, score);
  }
  for (let i = 0; i < scores.length; i++) {
    const score = scores[i] ?? 0;
    scores[i] =
      score === LEFT_OUT ? 0 : greatest === 0 ? 100 : Math.floor((100 * (greatest + least - score)) / greatest);
  }
}

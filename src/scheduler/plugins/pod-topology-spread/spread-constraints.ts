/**
 * Spread constraints prepared for counting: selector with `matchLabelKeys`, inclusion policies, defaults. Upstream:
 * podtopologyspread/common.go.
 */
import { getOrMake } from '../../../base/get-or-make.ts';
import { compileLabelSelector, compileRequirements, type LabelMatcher } from '../../../api/label-selector.ts';
import type { Pod, Taint, TopologySpreadConstraint } from '../../../api/gen/core-v1.ts';
import { findUntoleratedTaint } from '../../../api/taints-tolerations.ts';
import type { Stored } from '../../../api/object.ts';
import { nodeSelectorMatches } from '../../../component-helpers/node-affinity.ts';
import type { NodeInfo } from '../../cache/node-info.ts';
import type { SiblingSelector } from '../../framework/plugin-deps.ts';
import type { NodeCounts } from '../../framework/node-counts.ts';
import type { SpreadKeys } from './spread-keys.ts';

/** A constraint of one pod. */
export interface SpreadConstraint {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly minDomains: number;
  /** Whether the constraint's selector matches the pod itself. */
  readonly selfMatches: boolean;
  /** Equal for constraints that count the same pods and include the same nodes. */
  readonly key: string;
  /** The number of matching pods on a node. */
  readonly count: (node: NodeInfo) => number;
  /** Whether the node's pods are counted. */
  includes(node: Pick<NodeInfo, 'node'>): boolean;
  matches(other: Stored<Pod>): boolean;
}

const HOSTNAME = 'kubernetes.io/hostname';
const ZONE = 'topology.kubernetes.io/zone';

/** Upstream's system defaults. */
const DEFAULTS: readonly TopologySpreadConstraint[] = [
  { topologyKey: HOSTNAME, whenUnsatisfiable: 'ScheduleAnyway', maxSkew: 3 },
  { topologyKey: ZONE, whenUnsatisfiable: 'ScheduleAnyway', maxSkew: 5 },
];

/** What constraints of different pods share: counts and keys. */
export interface SpreadMemory {
  readonly counts: NodeCounts;
  readonly keys: SpreadKeys;
}

/** The pod's constraints with this `whenUnsatisfiable`. */
export function constraintsOf(pod: Stored<Pod>, whenUnsatisfiable: string, memory: SpreadMemory): SpreadConstraint[] {
  const nodes = new IncludedNodes(pod);
  return (pod.spec?.topologySpreadConstraints ?? [])
    .filter((c) => c.whenUnsatisfiable === whenUnsatisfiable)
    .map((c) => {
      const selector = withLabelKeys(compileLabelSelector(c.labelSelector), pod, c.matchLabelKeys);
      return new PreparedConstraint(c, { pod, memory, nodes, selector });
    });
}

/**
 * Constraints for a pod without any: they spread its siblings, over hosts and zones unless the configuration has
 * others.
 */
export function defaultConstraints(
  pod: Stored<Pod>,
  options: {
    memory: SpreadMemory;
    siblings: SiblingSelector;
    defaults: readonly TopologySpreadConstraint[] | undefined;
    kind: 'DoNotSchedule' | 'ScheduleAnyway';
  },
): SpreadConstraint[] {
  const { memory, siblings, defaults = DEFAULTS, kind } = options;
  const wanted = defaults.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === kind);
  const selector = wanted.length === 0 ? undefined : siblings(pod);
  if (selector === undefined) return [];
  const nodes = new IncludedNodes(pod);
  return wanted.map((c) => new PreparedConstraint(c, { pod, memory, nodes, selector }));
}

/** Which nodes the pod's node affinity and tolerations admit. Each node is checked once for all constraints. */
class IncludedNodes {
  readonly #pod: Stored<Pod>;
  readonly #wanted = new Map<object, boolean>();
  readonly #tolerated = new Map<object, boolean>();

  constructor(pod: Stored<Pod>) {
    this.#pod = pod;
  }

  isWanted({ node }: Pick<NodeInfo, 'node'>): boolean {
    return getOrMake(this.#wanted, node, () => nodeSelectorMatches(this.#pod, node));
  }

  isTolerated({ node }: Pick<NodeInfo, 'node'>): boolean {
    return getOrMake(this.#tolerated, node, () => tolerates(this.#pod, node.spec?.taints ?? []));
  }
}

function tolerates(pod: Stored<Pod>, taints: readonly Taint[]): boolean {
  const keepsOut = ({ effect }: Taint): boolean => effect === 'NoSchedule' || effect === 'NoExecute';
  return findUntoleratedTaint(taints, pod.spec?.tolerations ?? [], keepsOut) === undefined;
}

interface ConstraintParts {
  readonly pod: Stored<Pod>;
  readonly memory: SpreadMemory;
  readonly nodes: IncludedNodes;
  readonly selector: LabelMatcher;
}

/** Keys and counters are created on first use, since queueing hints create many constraints and use one property. */
class PreparedConstraint implements SpreadConstraint {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly minDomains: number;
  readonly #parts: ConstraintParts;
  readonly #honorsAffinity: boolean;
  readonly #honorsTaints: boolean;
  #selfMatches: boolean | undefined;
  #count: ((node: NodeInfo) => number) | undefined;

  constructor(constraint: TopologySpreadConstraint, parts: ConstraintParts) {
    this.topologyKey = constraint.topologyKey;
    this.maxSkew = constraint.maxSkew;
    this.minDomains = constraint.minDomains ?? 1;
    this.#parts = parts;
    this.#honorsAffinity = (constraint.nodeAffinityPolicy ?? 'Honor') === 'Honor';
    this.#honorsTaints = constraint.nodeTaintsPolicy === 'Honor';
  }

  get selfMatches(): boolean {
    return (this.#selfMatches ??= this.#parts.selector.matches(this.#parts.pod.metadata.labels));
  }

  get key(): string {
    const { pod, memory } = this.#parts;
    const affinity = this.#honorsAffinity ? (memory.keys.affinity(pod) ?? '') : '';
    const tolerations = this.#honorsTaints ? (memory.keys.tolerations(pod) ?? '') : '-';
    return `${this.topologyKey}|${this.#question}|${affinity}|${tolerations}`;
  }

  get count(): (node: NodeInfo) => number {
    return (this.#count ??= this.#parts.memory.counts.of(this.#question, (other) => this.matches(other)));
  }

  get #question(): string {
    const { pod, selector } = this.#parts;
    return `${pod.metadata.namespace}|${selector.isNothing ? '!' : selector.toString()}`;
  }

  includes(node: Pick<NodeInfo, 'node'>): boolean {
    const { nodes } = this.#parts;
    return (!this.#honorsAffinity || nodes.isWanted(node)) && (!this.#honorsTaints || nodes.isTolerated(node));
  }

  matches(other: Stored<Pod>): boolean {
    const { pod, selector } = this.#parts;
    return (
      other.metadata.namespace === pod.metadata.namespace &&
      other.metadata.deletionTimestamp === undefined &&
      selector.matches(other.metadata.labels)
    );
  }
}

function withLabelKeys(selector: LabelMatcher, pod: Stored<Pod>, keys: readonly string[] | undefined): LabelMatcher {
  const labels = pod.metadata.labels ?? {};
  const added = (keys ?? []).flatMap((key) =>
    Object.hasOwn(labels, key) ? [{ key, operator: 'in' as const, values: [labels[key] ?? ''] }] : [],
  );
  return added.length === 0 || selector.isNothing
    ? selector
    : compileRequirements([...selector.requirements, ...added]);
}

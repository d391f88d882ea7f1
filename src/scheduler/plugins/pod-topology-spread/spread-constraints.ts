/** Spread constraints made ready: selector with `matchLabelKeys`, inclusion policies, defaults. Upstream: podtopologyspread/common.go. */
import { stringifyJson } from '../../../api/codec/json.ts';
import { compileLabelSelector, compileRequirements, type LabelMatcher } from '../../../api/label-selector.ts';
import type { Pod, Taint, TopologySpreadConstraint } from '../../../api/gen/core-v1.ts';
import { findUntoleratedTaint } from '../../../api/taints-tolerations.ts';
import type { Stored } from '../../../api/object.ts';
import { nodeSelectorMatches } from '../../../component-helpers/node-affinity.ts';
import type { NodeInfo } from '../../cache/node-info.ts';
import type { SiblingSelector } from '../../framework/plugin-deps.ts';
import type { NodeCounts } from '../../framework/node-counts.ts';

/** A constraint of one pod. */
export interface SpreadConstraint {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly minDomains: number;
  /** Whether the pod counts itself. */
  readonly selfMatches: boolean;
  /** Equal for constraints that count alike and include the same nodes. */
  readonly key: string;
  /** Matching pods on a node. */
  count(node: NodeInfo): number;
  /** Whether the node takes part. */
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

/** The pod's constraints of one kind. */
export function constraintsOf(pod: Stored<Pod>, whenUnsatisfiable: string, counts: NodeCounts): SpreadConstraint[] {
  return (pod.spec?.topologySpreadConstraints ?? [])
    .filter((c) => c.whenUnsatisfiable === whenUnsatisfiable)
    .map((c) =>
      prepare(pod, c, {
        counts,
        selector: withLabelKeys(compileLabelSelector(c.labelSelector), pod, c.matchLabelKeys),
      }),
    );
}

/** Constraints of a pod that has none: spread its siblings, over hosts and zones unless others are given. */
export function defaultConstraints(
  pod: Stored<Pod>,
  options: {
    counts: NodeCounts;
    siblings: SiblingSelector;
    defaults: readonly TopologySpreadConstraint[] | undefined;
    kind: 'DoNotSchedule' | 'ScheduleAnyway';
  },
): SpreadConstraint[] {
  const { counts, siblings, defaults = DEFAULTS, kind } = options;
  const wanted = defaults.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === kind);
  const selector = wanted.length === 0 ? undefined : siblings(pod);
  return selector === undefined ? [] : wanted.map((c) => prepare(pod, c, { counts, selector }));
}

function prepare(
  pod: Stored<Pod>,
  constraint: TopologySpreadConstraint,
  { counts, selector }: { counts: NodeCounts; selector: LabelMatcher },
): SpreadConstraint {
  const namespace = pod.metadata.namespace;
  const matches = (other: Stored<Pod>): boolean =>
    other.metadata.namespace === namespace &&
    other.metadata.deletionTimestamp === undefined &&
    selector.matches(other.metadata.labels);
  const honorAffinity = (constraint.nodeAffinityPolicy ?? 'Honor') === 'Honor';
  const honorTaints = constraint.nodeTaintsPolicy === 'Honor';
  const question = `${namespace}|${selector.isNothing ? '!' : selector.toString()}`;
  return {
    topologyKey: constraint.topologyKey,
    maxSkew: constraint.maxSkew,
    minDomains: constraint.minDomains ?? 1,
    selfMatches: selector.matches(pod.metadata.labels),
    matches,
    key: `${constraint.topologyKey}|${question}|${honorAffinity ? affinityText(pod) : ''}|${honorTaints ? tolerationText(pod) : '-'}`,
    count: counts.of(question, matches),
    includes: (node) =>
      (!honorAffinity || nodeSelectorMatches(pod, node.node)) && (!honorTaints || toleratesNode(pod, node)),
  };
}

/** Texts by what they are of: each constraint of the pod has them in its key. */
const texts = new WeakMap<object, string>();

function textOf(owner: object | undefined, value: unknown): string {
  if (owner === undefined) return '';
  let text = texts.get(owner);
  if (text === undefined) texts.set(owner, (text = stringifyJson(value)));
  return text;
}

function affinityText({ spec }: Pod): string {
  return textOf(spec, [spec?.nodeSelector, spec?.affinity?.nodeAffinity]);
}

function tolerationText({ spec }: Pod): string {
  return textOf(spec?.tolerations, spec?.tolerations);
}

function toleratesNode(pod: Stored<Pod>, node: Pick<NodeInfo, 'node'>): boolean {
  const keepsOut = ({ effect }: Taint): boolean => effect === 'NoSchedule' || effect === 'NoExecute';
  return findUntoleratedTaint(node.node.spec?.taints ?? [], pod.spec?.tolerations ?? [], keepsOut) === undefined;
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

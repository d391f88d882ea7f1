/**
 * Whether a node satisfies a pod's node selector and required node affinity, and how well it meets the preferred terms.
 * Shared by scheduler, kubelet and DaemonSet controller. Upstream: component-helpers/scheduling/corev1/nodeaffinity.
 */
import type { Node, NodeSelectorRequirement, NodeSelectorTerm, Pod } from '../api/gen/core-v1.ts';
import { termsToTry } from './node-term-index.ts';

/** Whether the pod may run on the node as far as selectors go. */
export function nodeSelectorMatches(pod: Pod, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(pod.spec?.nodeSelector ?? {})) if (labels[key] !== value) return false;
  const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || someTermMatches(required.nodeSelectorTerms, node);
}

/**
 * The parts of the pod's node selector and required affinity that the node does not meet, as text; empty when it
 * meets all.
 */
export function selectorLacks(pod: Pod, node: Node): string[] {
  const labels = node.metadata.labels ?? {};
  const terms =
    pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const isMet = terms.length === 0 || someTermMatches(terms, node);
  return [
    ...Object.entries(pod.spec?.nodeSelector ?? {})
      .filter(([key, value]) => labels[key] !== value)
      .map(([key, value]) => `label ${key} is ${labels[key] ?? 'not set'}, not ${value}`),
    ...(isMet ? [] : [`nodeAffinity asks for ${terms.map(termText).join(' or ')}`]),
  ];
}

export function someTermMatches(terms: readonly NodeSelectorTerm[], node: Node): boolean {
  return termsToTry(terms, node.metadata.labels).some((term) => nodeSelectorTermMatches(term, node));
}

/** Whether one term matches: all of its requirements. A term without any matches nothing. */
export function nodeSelectorTermMatches(term: NodeSelectorTerm, node: Node): boolean {
  const expressions = term.matchExpressions ?? [];
  const fields = term.matchFields ?? [];
  if (expressions.length === 0 && fields.length === 0) return false;
  const labels = node.metadata.labels ?? {};
  return (
    expressions.every((r) => requirementMatches(r, Object.hasOwn(labels, r.key) ? labels[r.key] : undefined)) &&
    fields.every((r) => r.key === 'metadata.name' && requirementMatches(r, node.metadata.name))
  );
}

/** `zone In (a, b), gpu Exists`, for people. */
export function termText({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): string {
  return [...matchExpressions, ...matchFields]
    .map(
      ({ key, operator, values = [] }) => `${key} ${operator}${values.length === 0 ? '' : ` (${values.join(', ')})`}`,
    )
    .join(', ');
}

function requirementMatches(requirement: NodeSelectorRequirement, value: string | undefined): boolean {
  const values = requirement.values ?? [];
  switch (requirement.operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return compares(value, values, (a, b) => a > b);
    case 'Lt':
      return compares(value, values, (a, b) => a < b);
    default:
      return false;
  }
}

function compares(
  value: string | undefined,
  values: readonly string[],
  holds: (a: bigint, b: bigint) => boolean,
): boolean {
  const [bound] = values;
  if (value === undefined || values.length !== 1 || bound === undefined) return false;
  return /^-?\d+$/.test(value) && /^-?\d+$/.test(bound) && holds(BigInt(value), BigInt(bound));
}

/** Sum of the weights of the preferred terms the node meets. */
export function preferredNodeAffinityWeight(pod: Pod, node: Node): number {
  let weight = 0;
  for (const preferred of pod.spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []) {
    if (nodeSelectorTermMatches(preferred.preference, node)) weight += preferred.weight;
  }
  return weight;
}

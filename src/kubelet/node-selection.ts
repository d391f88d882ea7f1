/** Whether a node is one the pod's selector and required affinity allow. Pure. Upstream: k8s.io/component-helpers/scheduling/corev1/nodeaffinity. */
import type { Node, NodeSelectorRequirement, NodeSelectorTerm, Pod } from '../api/gen/core-v1.ts';

function matchesRequirement(requirement: NodeSelectorRequirement, value: string | undefined): boolean {
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
      return isInteger(value) && isInteger(values[0]) && BigInt(value) > BigInt(values[0]);
    case 'Lt':
      return isInteger(value) && isInteger(values[0]) && BigInt(value) < BigInt(values[0]);
    default:
      return false;
  }
}

function isInteger(text: string | undefined): text is string {
  return text !== undefined && /^-?\d+$/.test(text);
}

/** A term without requirements selects nothing. */
function matchesTerm(term: NodeSelectorTerm, node: Node): boolean {
  const expressions = term.matchExpressions ?? [];
  const fields = term.matchFields ?? [];
  if (expressions.length + fields.length === 0) return false;
  const field = (key: string): string | undefined => (key === 'metadata.name' ? node.metadata.name : undefined);
  return (
    expressions.every((requirement) => matchesRequirement(requirement, node.metadata.labels?.[requirement.key])) &&
    fields.every((requirement) => matchesRequirement(requirement, field(requirement.key)))
  );
}

/** nodeSelector and requiredDuringSchedulingIgnoredDuringExecution both hold. */
export function matchesNodeSelection(pod: Pod, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  if (!Object.entries(pod.spec?.nodeSelector ?? {}).every(([key, value]) => labels[key] === value)) return false;
  const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || required.nodeSelectorTerms.some((term) => matchesTerm(term, node));
}

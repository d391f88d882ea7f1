/** Warnings about selectors with deprecated node labels. Upstream: pkg/api/node. */
import type { NodeSelectorTerm } from '../gen/core-v1.ts';
import type { LabelSelector } from '../gen/meta-v1.ts';
import { isLabelValue } from '../names.ts';

const DEPRECATED: ReadonlyMap<string, string> = new Map([
  ['beta.kubernetes.io/arch', 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ['beta.kubernetes.io/os', 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  ['failure-domain.beta.kubernetes.io/region', 'deprecated since v1.17; use "topology.kubernetes.io/region" instead'],
  ['failure-domain.beta.kubernetes.io/zone', 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'],
  ['beta.kubernetes.io/instance-type', 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'],
  ['app.kubernetes.io/created-by', 'deprecated since v1.9'],
  ['scheduler.alpha.kubernetes.io/preferAvoidPods', 'deprecated since v1.22; use Taints and Tolerations instead'],
  ['node-role.kubernetes.io/master', 'use "node-role.kubernetes.io/control-plane" instead'],
]);

/** The replacement of a deprecated label; undefined for other labels. */
export function deprecatedNodeLabel(key: string): string | undefined {
  return DEPRECATED.get(key);
}

function expressionWarnings(expressions: readonly { readonly key: string }[], path: string): string[] {
  return expressions.flatMap(({ key }, index) => {
    const text = deprecatedNodeLabel(key);
    return text === undefined ? [] : [`${path}.matchExpressions[${index}].key: ${key} is ${text}`];
  });
}

/** Warnings about a node affinity term. Values of preferred terms are not validated, so invalid label values cause warnings. */
export function nodeSelectorTermWarnings(term: NodeSelectorTerm, path: string, checkValues: boolean): string[] {
  const expressions = term.matchExpressions ?? [];
  if (!checkValues) return expressionWarnings(expressions, path);
  return expressions.flatMap((expression, index) => {
    const place = `${path}.matchExpressions[${index}]`;
    const text = deprecatedNodeLabel(expression.key);
    return [
      ...(text === undefined ? [] : [`${place}.key: ${expression.key} is ${text}`]),
      ...(expression.values ?? []).flatMap((value, at) =>
        isLabelValue(value).map((problem) => `${place}.values[${at}]: ${value} is invalid, ${problem}`),
      ),
    ];
  });
}

/** Warnings about a label selector of nodes. */
export function nodeLabelSelectorWarnings(selector: LabelSelector | undefined, path: string): string[] {
  if (selector === undefined) return [];
  return [
    ...expressionWarnings(selector.matchExpressions ?? [], path),
    ...Object.keys(selector.matchLabels ?? {}).flatMap((label) => {
      const text = deprecatedNodeLabel(label);
      return text === undefined ? [] : [`${path}.matchLabels.${label}: ${text}`];
    }),
  ];
}

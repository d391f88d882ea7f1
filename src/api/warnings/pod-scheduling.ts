/** Warnings about scheduling constraints that have no effect or use deprecated labels. Upstream: pkg/api/pod warnings. */
import type { PodAffinity, PodSpec } from '../gen/core-v1.ts';
import { deprecatedNodeLabel, nodeSelectorTermWarnings } from './node-labels.ts';

const NO_SELECTOR = 'a null labelSelector results in matching no pod';

/** Warnings about node selector, node affinity and spread constraints. `path`: the path of the pod's spec. */
export function nodeChoiceWarnings(spec: PodSpec, path: string): string[] {
  const { requiredDuringSchedulingIgnoredDuringExecution: required, ...affinity } = spec.affinity?.nodeAffinity ?? {};
  const { preferredDuringSchedulingIgnoredDuringExecution: preferred = [] } = affinity;
  const place = `${path}.affinity.nodeAffinity`;
  return [
    ...Object.keys(spec.nodeSelector ?? {}).flatMap((label) => {
      const text = deprecatedNodeLabel(label);
      return text === undefined ? [] : [`${path}.nodeSelector[${label}]: ${text}`];
    }),
    ...(required?.nodeSelectorTerms ?? []).flatMap((term, index) =>
      nodeSelectorTermWarnings(
        term,
        `${place}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[${index}]`,
        false,
      ),
    ),
    ...preferred.flatMap(({ preference }, index) =>
      nodeSelectorTermWarnings(
        preference,
        `${place}.preferredDuringSchedulingIgnoredDuringExecution[${index}].preference`,
        true,
      ),
    ),
    ...spreadWarnings(spec, path),
  ];
}

function spreadWarnings(spec: PodSpec, path: string): string[] {
  return (spec.topologySpreadConstraints ?? []).flatMap(({ topologyKey, labelSelector }, index) => {
    const place = `${path}.topologySpreadConstraints[${index}]`;
    const text = deprecatedNodeLabel(topologyKey);
    return [
      ...(text === undefined ? [] : [`${place}.topologyKey: ${topologyKey} is ${text}`]),
      ...(labelSelector === undefined ? [`${place}.labelSelector: ${NO_SELECTOR}`] : []),
    ];
  });
}

/** Warnings about pod affinity terms with an empty selector. */
export function podAffinityWarnings(spec: PodSpec, path: string): string[] {
  return (['podAffinity', 'podAntiAffinity'] as const).flatMap((name) =>
    termWarnings(spec.affinity?.[name] ?? {}, `${path}.affinity.${name}`),
  );
}

function termWarnings(affinity: PodAffinity, path: string): string[] {
  const required = affinity.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  const preferred = affinity.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const matchesNone = ({ labelSelector }: { readonly labelSelector?: object }): boolean => labelSelector === undefined;
  return [
    ...required.flatMap((term, index) =>
      matchesNone(term)
        ? [`${path}.requiredDuringSchedulingIgnoredDuringExecution[${index}].labelSelector: ${NO_SELECTOR}`]
        : [],
    ),
    ...preferred.flatMap(({ podAffinityTerm }, index) => {
      const place = `${path}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
      return matchesNone(podAffinityTerm) ? [`${place}.podAffinityTerm.labelSelector: ${NO_SELECTOR}`] : [];
    }),
  ];
}

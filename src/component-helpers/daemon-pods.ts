/**
 * A daemon pod's node, its tolerations, and whether it should run there. Upstream: daemon/util, daemon_controller
 * NodeShouldRunDaemonPod. Used by the DaemonSet controller and by node drains and shutdown.
 */
import type { Affinity, Node, NodeSelectorRequirement, Pod, PodSpec, Taint, Toleration } from '../api/gen/core-v1.ts';
import { findUntoleratedTaint } from '../api/taints-tolerations.ts';
import { nodeSelectorMatches } from './node-affinity.ts';

const EXISTS = (key: string, effect: string): Toleration => ({ key, operator: 'Exists', effect });

const ALWAYS: readonly Toleration[] = [
  EXISTS('node.kubernetes.io/not-ready', 'NoExecute'),
  EXISTS('node.kubernetes.io/unreachable', 'NoExecute'),
  EXISTS('node.kubernetes.io/disk-pressure', 'NoSchedule'),
  EXISTS('node.kubernetes.io/memory-pressure', 'NoSchedule'),
  EXISTS('node.kubernetes.io/pid-pressure', 'NoSchedule'),
  EXISTS('node.kubernetes.io/unschedulable', 'NoSchedule'),
];
const WITH_HOST_NETWORK = EXISTS('node.kubernetes.io/network-unavailable', 'NoSchedule');

/** The tolerations of a daemon pod: the template's and those every daemon pod has. */
export function daemonTolerations(spec: PodSpec | undefined): Toleration[] {
  const own = spec?.tolerations ?? [];
  const wanted = spec?.hostNetwork === true ? [...ALWAYS, WITH_HOST_NETWORK] : ALWAYS;
  const missing = wanted.filter(
    (t) =>
      !own.some((o) => o.key === t.key && o.effect === t.effect && o.operator === t.operator && (o.value ?? '') === ''),
  );
  return [...own, ...missing];
}

/** The affinity with every required term (or a new one) bound to the node by its name field. */
export function affinityToNode(affinity: Affinity | undefined, nodeName: string): Affinity {
  const byName: NodeSelectorRequirement = { key: 'metadata.name', operator: 'In', values: [nodeName] };
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const terms = required?.nodeSelectorTerms ?? [];
  // Terms are alternatives: each must name the node, and what they named before does not count any more.
  const nodeSelectorTerms =
    terms.length === 0 ? [{ matchFields: [byName] }] : terms.map((term) => ({ ...term, matchFields: [byName] }));
  return {
    ...affinity,
    nodeAffinity: { ...affinity?.nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
  };
}

/** The node a daemon pod runs or is to run on; undefined when it names none. */
export function daemonPodNode(pod: Pod): string | undefined {
  const bound = pod.spec?.nodeName ?? '';
  if (bound !== '') return bound;
  const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  for (const term of required?.nodeSelectorTerms ?? []) {
    for (const field of term.matchFields ?? []) {
      if (field.key === 'metadata.name' && field.operator === 'In' && field.values?.length === 1)
        return field.values[0];
    }
  }
  return undefined;
}

/** The taint that keeps new daemon pods of this spec from the node; undefined: none does. */
export function daemonPodTaint(spec: PodSpec, node: Node): Taint | undefined {
  return findUntoleratedTaint(node.spec?.taints ?? [], daemonTolerations(spec), ({ effect }) =>
    ['NoSchedule', 'NoExecute'].includes(effect),
  );
}

/** Whether a new daemon pod of this spec is wanted on the node, and whether one that is there may stay. */
export function shouldRunOnNode(
  spec: PodSpec | undefined,
  node: Node,
): { readonly run: boolean; readonly stay: boolean } {
  const NEITHER = { run: false, stay: false };
  if (spec === undefined) return NEITHER;
  const named = spec.nodeName ?? '';
  if (named !== '' && named !== node.metadata.name) return NEITHER;
  if (!nodeSelectorMatches({ metadata: {}, spec }, node)) return NEITHER;
  const tolerations = daemonTolerations(spec);
  const untolerated = (effects: readonly string[]): boolean =>
    findUntoleratedTaint(node.spec?.taints ?? [], tolerations, (taint) => effects.includes(taint.effect)) !== undefined;
  if (!untolerated(['NoSchedule', 'NoExecute'])) return { run: true, stay: true };
  return { run: false, stay: !untolerated(['NoExecute']) };
}

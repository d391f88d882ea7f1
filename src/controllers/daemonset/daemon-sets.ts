/**
 * What a DaemonSet's spec means for nodes, and the pods made from it. Pure. Upstream: daemon/util/daemonset_util.go.
 */
import { TEMPLATE_GENERATION } from '../../api/defaults/apps.ts';
import type { DaemonSet } from '../../api/gen/apps-v1.ts';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import { DaemonSets } from '../../api/gen/resources.ts';
import { scaledValue } from '../../api/int-or-string.ts';
import type { Stored } from '../../api/object.ts';
import { deepEqual } from '../../base/equal.ts';
import { affinityToNode, daemonTolerations, shouldRunOnNode } from '../../component-helpers/daemon-pods.ts';
import { REVISION_HASH_LABEL } from '../controller-history.ts';
import { podFromTemplate } from '../pod-control.ts';

const TEMPLATE_GENERATION_LABEL = 'pod-template-generation';

/** Sorts the pods of one node: bound ones first, then the oldest. */
export function inOrder(pods: Iterable<Stored<Pod>>): readonly Stored<Pod>[] {
  return [...pods].sort(boundThenOldest);
}

function boundThenOldest(a: Stored<Pod>, b: Stored<Pod>): number {
  const bound = (pod: Pod): number => ((pod.spec?.nodeName ?? '') === '' ? 1 : 0);
  if (bound(a) !== bound(b)) return bound(a) - bound(b);
  const [createdA = '', createdB = ''] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  if (createdA !== createdB) return createdA < createdB ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

/** Whether the pod has the current revision. */
export function isUpdated(set: DaemonSet, pod: Pod, hash: string): boolean {
  const labels = pod.metadata.labels ?? {};
  const generation = set.metadata.annotations?.[TEMPLATE_GENERATION];
  return (
    labels[REVISION_HASH_LABEL] === hash ||
    (generation !== undefined && labels[TEMPLATE_GENERATION_LABEL] === generation)
  );
}

/** How many nodes may be without a ready pod, and how many may have two, while rolling out to `nodes` nodes. */
export function rollingLimits(
  set: DaemonSet,
  nodes: number,
): { readonly maxSurge: number; readonly maxUnavailable: number } {
  const rolling = set.spec?.updateStrategy?.rollingUpdate;
  if (set.spec?.updateStrategy?.type !== 'RollingUpdate' || rolling === undefined)
    return { maxSurge: 0, maxUnavailable: 0 };
  const maxSurge = scaledValue(rolling.maxSurge ?? 0, nodes, true);
  const maxUnavailable = scaledValue(rolling.maxUnavailable ?? 1, nodes, true);
  // With two zeros the update would never make progress.
  return { maxSurge, maxUnavailable: nodes > 0 && maxSurge === 0 && maxUnavailable === 0 ? 1 : maxUnavailable };
}

/** Whether an update may put two pods on a node. */
export function allowsSurge(set: DaemonSet): boolean {
  return rollingLimits(set, 1).maxSurge > 0;
}

/** Whether a pod should run on the node, and whether an existing one may continue. Upstream: NodeShouldRunDaemonPod. */
export function shouldRun(set: DaemonSet, node: Node): { readonly run: boolean; readonly stay: boolean } {
  return shouldRunOnNode(set.spec?.template.spec, node);
}

/** How many terms, requirements and tolerations are compared with each node. */
export function placementSize({ spec }: DaemonSet): number {
  const { affinity, nodeSelector = {}, tolerations = [] } = spec?.template.spec ?? {};
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const requirements = terms.reduce((sum, { matchExpressions = [] }) => sum + 1 + matchExpressions.length, 0);
  return 1 + requirements + Object.keys(nodeSelector).length + tolerations.length;
}

export function daemonPod(set: Stored<DaemonSet>, hash: string, nodeName: string): Pod {
  const template = set.spec?.template ?? {};
  const pod = podFromTemplate(template, set, DaemonSets);
  const generation = set.metadata.annotations?.[TEMPLATE_GENERATION];
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: {
        ...pod.metadata.labels,
        ...(generation === undefined ? {} : { [TEMPLATE_GENERATION_LABEL]: generation }),
        [REVISION_HASH_LABEL]: hash,
      },
    },
    spec: {
      ...template.spec,
      containers: template.spec?.containers ?? [],
      affinity: affinityToNode(template.spec?.affinity, nodeName),
      tolerations: daemonTolerations(template.spec),
    },
  };
}

export function concernsDaemons(old: Node, node: Node): boolean {
  return !deepEqual(old.metadata.labels, node.metadata.labels) || !deepEqual(old.spec?.taints, node.spec?.taints);
}

/** NodeUnschedulable: cordoned nodes take only pods that tolerate the unschedulable taint. Upstream: plugins/nodeunschedulable. */
import type { Node, Pod } from '../../../api/gen/core-v1.ts';
import { toleratesTaint } from '../../../api/taints-tolerations.ts';
import type { Stored } from '../../../api/object.ts';
import type { SchedulerPlugin } from '../../framework/plugin.ts';
import { unresolvable } from '../../framework/status.ts';

const TAINT = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

export function createNodeUnschedulable(): SchedulerPlugin {
  const open = (_pod: unknown, _old: unknown, node: unknown): boolean =>
    (node as Stored<Node>).spec?.unschedulable !== true;
  return {
    name: 'NodeUnschedulable',
    nodeLocal: true,
    filter(_state, pod, info) {
      if (info.node.spec?.unschedulable !== true) return undefined;
      return tolerates(pod) ? undefined : unresolvable('NodeUnschedulable', 'node(s) were unschedulable');
    },
    events: [
      { event: 'node/add', hint: open },
      { event: 'node/update-taint', hint: open },
      { event: 'pod/update', hint: (pod) => tolerates(pod) },
    ],
  };
}

function tolerates(pod: Stored<Pod>): boolean {
  return (pod.spec?.tolerations ?? []).some((toleration) => toleratesTaint(toleration, TAINT));
}

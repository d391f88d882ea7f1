/** The columns of nodes in `kubectl get`. Upstream: printers/internalversion. */
import type { Node } from '../../../../api/gen/core-v1.ts';
import { nodeCondition } from '../../../../component-helpers/nodes.ts';
import { ageCell, ageColumn, column, listOrNone, printerOf, wide } from '../../printing.ts';
import type { Printer } from '../../resource-definition.ts';

const ROLE_PREFIX = 'node-role.kubernetes.io/';

function nodeRoles(node: Node): string {
  const roles = new Set<string>();
  for (const [key, value] of Object.entries(node.metadata.labels ?? {})) {
    if (key.startsWith(ROLE_PREFIX) && key.length > ROLE_PREFIX.length) roles.add(key.slice(ROLE_PREFIX.length));
    else if (key === 'kubernetes.io/role' && value !== '') roles.add(value);
  }
  return listOrNone([...roles].toSorted());
}

function nodeStatus(node: Node): string {
  const ready = nodeCondition(node, 'Ready');
  const texts = [ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady'];
  if (node.spec?.unschedulable === true) texts.push('SchedulingDisabled');
  return texts.join(',');
}

function nodeAddress(node: Node, type: string): string {
  return (node.status?.addresses ?? []).find((address) => address.type === type)?.address ?? '<none>';
}

function unknownIfEmpty(text: string | undefined): string {
  return text === undefined || text === '' ? '<unknown>' : text;
}

export const nodePrinter: Printer<Node> = printerOf(
  [
    column('Status'),
    column('Roles'),
    ageColumn,
    column('Version'),
    ...['Internal-IP', 'External-IP', 'OS-Image', 'Kernel-Version', 'Container-Runtime'].map((name) =>
      wide(column(name)),
    ),
  ],
  (node, nowMs) => {
    const info = node.status?.nodeInfo;
    return [
      nodeStatus(node),
      nodeRoles(node),
      ageCell(node, nowMs),
      info?.kubeletVersion ?? '',
      nodeAddress(node, 'InternalIP'),
      nodeAddress(node, 'ExternalIP'),
      unknownIfEmpty(info?.osImage),
      unknownIfEmpty(info?.kernelVersion),
      unknownIfEmpty(info?.containerRuntimeVersion),
    ];
  },
);

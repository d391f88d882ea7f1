/** Columns of core kinds other than pods in `kubectl get`. Upstream: printers/internalversion. */
import type {
  ComponentStatus,
  ConfigMap,
  Namespace,
  PodSpec,
  PodTemplate,
  ReplicationController,
  ResourceQuota,
  Secret,
  ServiceAccount,
} from '../../../api/gen/core-v1.ts';
import {
  ageCell,
  ageColumn,
  column,
  containerCells,
  containerColumns,
  formatLabels,
  integerColumn,
  printerOf,
  wide,
} from '../printing.ts';
import type { Printer } from '../resource-definition.ts';

export const namespacePrinter: Printer<Namespace> = printerOf([column('Status'), ageColumn], (namespace, nowMs) => [
  namespace.status?.phase ?? '',
  ageCell(namespace, nowMs),
]);

export const configMapPrinter: Printer<ConfigMap> = printerOf([column('Data'), ageColumn], (map, nowMs) => [
  Object.keys(map.data ?? {}).length + Object.keys(map.binaryData ?? {}).length,
  ageCell(map, nowMs),
]);

export const secretPrinter: Printer<Secret> = printerOf(
  [column('Type'), column('Data'), ageColumn],
  (secret, nowMs) => [secret.type ?? '', Object.keys(secret.data ?? {}).length, ageCell(secret, nowMs)],
);

export const serviceAccountPrinter: Printer<ServiceAccount> = printerOf([ageColumn], (account, nowMs) => [
  ageCell(account, nowMs),
]);

export const replicationControllerPrinter: Printer<ReplicationController> = printerOf(
  [
    integerColumn('Desired'),
    integerColumn('Current'),
    integerColumn('Ready'),
    ageColumn,
    ...containerColumns,
    wide(column('Selector')),
  ],
  (controller, nowMs) => [
    controller.spec?.replicas ?? 0,
    controller.status?.replicas ?? 0,
    controller.status?.readyReplicas ?? 0,
    ageCell(controller, nowMs),
    ...containerCells(controller.spec?.template?.spec),
    formatLabels(controller.spec?.selector),
  ],
);

export const podTemplatePrinter: Printer<PodTemplate> = printerOf(
  [column('Containers'), column('Images'), column('Pod Labels')],
  (template) => [
    ...containerCells(template.template?.spec as PodSpec | undefined),
    formatLabels(template.template?.metadata?.labels),
  ],
);

function formatQuotaAmounts(quota: ResourceQuota, limits: boolean): string {
  const names = Object.keys(quota.status?.hard ?? {})
    .toSorted()
    .filter((name) => name.startsWith('limits') === limits);
  return names
    .map((name) => `${name}: ${quota.status?.used?.[name] ?? '0'}/${quota.status?.hard?.[name] ?? '0'}`)
    .join(', ');
}

export const resourceQuotaPrinter: Printer<ResourceQuota> = printerOf(
  [column('Request'), column('Limit'), ageColumn],
  (quota, nowMs) => [formatQuotaAmounts(quota, false), formatQuotaAmounts(quota, true), ageCell(quota, nowMs)],
);

export const componentStatusPrinter: Printer<ComponentStatus> = printerOf(
  [column('Status'), column('Message'), column('Error')],
  (component) => {
    const healthy = (component.conditions ?? []).find((condition) => condition.type === 'Healthy');
    const text = healthy?.status === 'True' ? 'Healthy' : healthy?.status === 'False' ? 'Unhealthy' : 'Unknown';
    return [text, healthy?.message ?? '', healthy?.error ?? ''];
  },
);

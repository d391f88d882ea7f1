/** What `kubectl get` shows of the core kinds beside pods. Upstream: printers/internalversion. */
import { ageOf } from '../../../api/age.ts';
import type {
  ComponentStatus,
  ConfigMap,
  Endpoints,
  Event,
  LimitRange,
  Namespace,
  Node,
  ObjectReference,
  PersistentVolume,
  PersistentVolumeClaim,
  PodSpec,
  PodTemplate,
  ReplicationController,
  ResourceQuota,
  Secret,
  Service,
  ServiceAccount,
} from '../../../api/gen/core-v1.ts';
import { nodeCondition } from '../../../component-helpers/nodes.ts';
import {
  ageCell,
  ageColumn,
  column,
  containerColumns,
  containerCells,
  formatLabels,
  integerColumn,
  listOrNone,
  nameColumn,
  printerOf,
  textOrNone,
  wide,
} from '../printing.ts';
import type { Printer } from '../resource-definition.ts';
import { appendAll } from '../../../base/lists.ts';

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

function loadBalancerAddresses(service: Service): string {
  const addresses = new Set(
    (service.status?.loadBalancer?.ingress ?? [])
      .map((ingress) => ingress.ip || ingress.hostname || '')
      .filter((text) => text !== ''),
  );
  return [...addresses].join(',');
}

function externalIp(service: Service): string {
  const external = (service.spec?.externalIPs ?? []).join(',');
  switch (service.spec?.type) {
    case 'ExternalName':
      return textOrNone(service.spec.externalName);
    case 'LoadBalancer': {
      const texts = [loadBalancerAddresses(service), external].filter((text) => text !== '');
      return texts.length === 0 ? '<pending>' : texts.join(',');
    }
    default:
      return textOrNone(external);
  }
}

function servicePorts(service: Service): string {
  return listOrNone(
    (service.spec?.ports ?? []).map((port) => {
      const nodePort = (port.nodePort ?? 0) > 0 ? `:${port.nodePort}` : '';
      return `${port.port}${nodePort}/${port.protocol ?? 'TCP'}`;
    }),
  );
}

export const servicePrinter: Printer<Service> = printerOf(
  [column('Type'), column('Cluster-IP'), column('External-IP'), column('Port(s)'), ageColumn, wide(column('Selector'))],
  (service, nowMs) => [
    service.spec?.type ?? '',
    textOrNone(service.spec?.clusterIPs?.[0] ?? service.spec?.clusterIP),
    externalIp(service),
    servicePorts(service),
    ageCell(service, nowMs),
    formatLabels(service.spec?.selector),
  ],
);

/** Addresses as endpoints show them: three at most. */
function formatEndpoints(endpoints: Endpoints): string {
  const all: string[] = [];
  for (const subset of endpoints.subsets ?? []) {
    const ports = subset.ports ?? [];
    for (const address of subset.addresses ?? []) {
      const host = address.ip.includes(':') ? `[${address.ip}]` : address.ip;
      if (ports.length === 0) all.push(address.ip);
      else
        appendAll(
          all,
          ports.map((port) => `${host}:${port.port}`),
        );
    }
  }
  if (all.length === 0) return '<none>';
  return all.length > 3 ? `${all.slice(0, 3).join(',')} + ${all.length - 3} more...` : all.join(',');
}

export const endpointsPrinter: Printer<Endpoints> = printerOf([column('Endpoints'), ageColumn], (endpoints, nowMs) => [
  formatEndpoints(endpoints),
  ageCell(endpoints, nowMs),
]);

export const namespacePrinter: Printer<Namespace> = printerOf([column('Status'), ageColumn], (namespace, nowMs) => [
  namespace.status?.phase ?? '',
  ageCell(namespace, nowMs),
]);

export const configMapPrinter: Printer<ConfigMap> = printerOf([integerColumn('Data'), ageColumn], (map, nowMs) => [
  Object.keys(map.data ?? {}).length + Object.keys(map.binaryData ?? {}).length,
  ageCell(map, nowMs),
]);

export const secretPrinter: Printer<Secret> = printerOf(
  [column('Type'), integerColumn('Data'), ageColumn],
  (secret, nowMs) => [secret.type ?? '', Object.keys(secret.data ?? {}).length, ageCell(secret, nowMs)],
);

export const serviceAccountPrinter: Printer<ServiceAccount> = printerOf(
  [integerColumn('Secrets'), ageColumn],
  (account, nowMs) => [(account.secrets ?? []).length, ageCell(account, nowMs)],
);

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

export const limitRangePrinter: Printer<LimitRange> = printerOf([column('Created At')], (range) => [
  range.metadata.creationTimestamp ?? '',
]);

const ACCESS_MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

function accessModes(modes: readonly string[] | undefined): string {
  const have = new Set(modes ?? []);
  return Object.entries(ACCESS_MODES)
    .filter(([mode]) => have.has(mode))
    .map(([, short]) => short)
    .join(',');
}

function unset(text: string | undefined): string {
  return text === undefined ? '<unset>' : text;
}

/** The storage class: by the older annotation where there is one. */
function classOf({ metadata, spec }: PersistentVolume | PersistentVolumeClaim): string {
  return metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? spec?.storageClassName ?? '';
}

export const persistentVolumePrinter: Printer<PersistentVolume> = printerOf(
  [
    ...[
      'Capacity',
      'Access Modes',
      'Reclaim Policy',
      'Status',
      'Claim',
      'StorageClass',
      'VolumeAttributesClass',
      'Reason',
    ].map(column),
    ageColumn,
    wide(column('VolumeMode')),
  ],
  (volume, nowMs) => {
    const { spec, status } = volume;
    const claim = spec?.claimRef === undefined ? '' : `${spec.claimRef.namespace ?? ''}/${spec.claimRef.name ?? ''}`;
    const phase = volume.metadata.deletionTimestamp === undefined ? (status?.phase ?? '') : 'Terminating';
    return [
      spec?.capacity?.['storage'] ?? '0',
      accessModes(spec?.accessModes),
      spec?.persistentVolumeReclaimPolicy ?? '',
      phase,
      claim,
      classOf(volume),
      unset(spec?.volumeAttributesClassName),
      status?.reason ?? '',
      ageCell(volume, nowMs),
      spec?.volumeMode ?? '<unset>',
    ];
  },
);

export const persistentVolumeClaimPrinter: Printer<PersistentVolumeClaim> = printerOf(
  [
    ...['Status', 'Volume', 'Capacity', 'Access Modes', 'StorageClass', 'VolumeAttributesClass'].map(column),
    ageColumn,
    wide(column('VolumeMode')),
  ],
  (claim, nowMs) => {
    const { spec, status } = claim;
    const bound = (spec?.volumeName ?? '') !== '';
    const phase = claim.metadata.deletionTimestamp === undefined ? (status?.phase ?? '') : 'Terminating';
    return [
      phase,
      spec?.volumeName ?? '',
      bound ? (status?.capacity?.['storage'] ?? '0') : '',
      bound ? accessModes(status?.accessModes) : '',
      classOf(claim),
      unset(spec?.volumeAttributesClassName),
      ageCell(claim, nowMs),
      spec?.volumeMode ?? '<unset>',
    ];
  },
);

function formatReference(reference: ObjectReference): string {
  return `${(reference.kind ?? '').toLowerCase()}/${reference.name ?? ''}`;
}

function lastSeen(event: Event, nowMs: number): string {
  if (event.series !== undefined) return ageOf(event.series.lastObservedTime, nowMs);
  return event.lastTimestamp === undefined ? ageOf(event.eventTime, nowMs) : ageOf(event.lastTimestamp, nowMs);
}

function eventSource(event: Event): string {
  const component = event.source?.component || event.reportingComponent || '';
  const host = event.source?.host || event.reportingInstance || '';
  return host === '' ? component : `${component}, ${host}`;
}

export const eventPrinter: Printer<Event> = {
  columns: [
    column('Last Seen'),
    column('Type'),
    column('Reason'),
    column('Object'),
    wide(column('Subobject')),
    wide(column('Source')),
    column('Message'),
    wide(column('First Seen')),
    wide(integerColumn('Count')),
    wide(nameColumn),
  ],
  cells: (event, nowMs) => [
    lastSeen(event, nowMs),
    event.type ?? '',
    event.reason ?? '',
    formatReference(event.involvedObject),
    event.involvedObject.fieldPath ?? '',
    eventSource(event),
    (event.message ?? '').trim(),
    ageOf(event.firstTimestamp ?? event.eventTime, nowMs),
    event.series?.count ?? event.count ?? 1,
    event.metadata.name ?? '',
  ],
};

export const componentStatusPrinter: Printer<ComponentStatus> = printerOf(
  [column('Status'), column('Message'), column('Error')],
  (component) => {
    const healthy = (component.conditions ?? []).find((condition) => condition.type === 'Healthy');
    const text = healthy?.status === 'True' ? 'Healthy' : healthy?.status === 'False' ? 'Unhealthy' : 'Unknown';
    return [text, healthy?.message ?? '', healthy?.error ?? ''];
  },
);

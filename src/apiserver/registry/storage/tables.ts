/** Columns of storage resources in `kubectl get`. Upstream: printers/internalversion. */
import type {
  CSIDriver,
  CSINode,
  StorageClass,
  VolumeAttachment,
  VolumeAttributesClass,
} from '../../../api/gen/storage-v1.ts';
import {
  ageCell,
  ageColumn,
  booleanColumn,
  column,
  integerColumn,
  listOrNone,
  nameColumn,
  printerOf,
} from '../printing.ts';
import type { Printer } from '../resource-definition.ts';

function defaultMark(
  object: { metadata: { annotations?: Record<string, string> } },
  ...keys: readonly string[]
): string {
  return keys.some((key) => object.metadata.annotations?.[key] === 'true') ? ' (default)' : '';
}

export const storageClassPrinter: Printer<StorageClass> = {
  columns: [
    nameColumn,
    column('Provisioner'),
    column('ReclaimPolicy'),
    column('VolumeBindingMode'),
    column('AllowVolumeExpansion'),
    ageColumn,
  ],
  cells: (storageClass, nowMs) => [
    `${storageClass.metadata.name ?? ''}${defaultMark(storageClass, 'storageclass.kubernetes.io/is-default-class', 'storageclass.beta.kubernetes.io/is-default-class')}`,
    storageClass.provisioner,
    storageClass.reclaimPolicy ?? 'Delete',
    storageClass.volumeBindingMode ?? 'Immediate',
    storageClass.allowVolumeExpansion ?? false,
    ageCell(storageClass, nowMs),
  ],
};

export const volumeAttributesClassPrinter: Printer<VolumeAttributesClass> = printerOf(
  [column('DriverName'), ageColumn],
  (attributes, nowMs) => [attributes.driverName, ageCell(attributes, nowMs)],
);

export const csiNodePrinter: Printer<CSINode> = printerOf([integerColumn('Drivers'), ageColumn], (node, nowMs) => [
  (node.spec?.drivers ?? []).length,
  ageCell(node, nowMs),
]);

export const csiDriverPrinter: Printer<CSIDriver> = printerOf(
  [
    booleanColumn('AttachRequired'),
    booleanColumn('PodInfoOnMount'),
    booleanColumn('StorageCapacity'),
    column('TokenRequests'),
    booleanColumn('RequiresRepublish'),
    column('Modes'),
    ageColumn,
  ],
  ({ spec, ...driver }, nowMs) => {
    const tokens = (spec?.tokenRequests ?? []).map((request) => request.audience);
    return [
      spec?.attachRequired ?? true,
      spec?.podInfoOnMount ?? false,
      spec?.storageCapacity ?? false,
      tokens.length === 0 ? '<unset>' : tokens.join(','),
      spec?.requiresRepublish ?? false,
      listOrNone(spec?.volumeLifecycleModes),
      ageCell(driver, nowMs),
    ];
  },
);

export const volumeAttachmentPrinter: Printer<VolumeAttachment> = printerOf(
  [{ ...column('Attacher'), format: 'name' }, column('PV'), column('Node'), booleanColumn('Attached'), ageColumn],
  ({ spec, status, ...attachment }, nowMs) => [
    spec.attacher,
    spec.source.persistentVolumeName ?? '',
    spec.nodeName,
    status?.attached ?? false,
    ageCell(attachment, nowMs),
  ],
);

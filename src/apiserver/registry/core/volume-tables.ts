/** The columns of volumes and claims in `kubectl get`. Upstream: printers/internalversion. */
import type { PersistentVolume, PersistentVolumeClaim } from '../../../api/gen/core-v1.ts';
import { ageCell, ageColumn, column, printerOf, wide } from '../printing.ts';
import type { Printer } from '../resource-definition.ts';

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

/** The storage class; the older annotation takes precedence. */
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

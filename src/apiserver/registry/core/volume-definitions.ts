/** Persistent volumes and their claims. */
import { setPersistentVolumeDefaults, setPersistentVolumeClaimDefaults } from '../../../api/defaults/volumes.ts';
import type { PersistentVolumeClaim } from '../../../api/gen/core-v1.ts';
import { validatePersistentVolumeClaimStatus } from '../../../api/validation/persistent-volume-claim-status.ts';
import {
  validatePersistentVolumeClaim,
  validatePersistentVolumeClaimUpdate,
} from '../../../api/validation/persistent-volume-claim.ts';
import { validatePersistentVolume, validatePersistentVolumeUpdate } from '../../../api/validation/persistent-volume.ts';
import { persistentVolumeWarnings, persistentVolumeClaimWarnings } from '../../../api/warnings/volumes.ts';
import type { Clock } from '../../../platform/clock.ts';
import { PersistentVolumes, PersistentVolumeClaims } from '../../../api/gen/resources.ts';
import { defineResource } from '../define-resource.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { stampPhase } from './volume-phase.ts';
import { persistentVolumePrinter, persistentVolumeClaimPrinter } from './volume-tables.ts';

/** Sets the older field for a claim's data source from the newer one. */
function syncDataSource(claim: PersistentVolumeClaim): void {
  const spec = claim.spec!;
  if (spec.dataSource !== undefined && spec.dataSourceRef === undefined) spec.dataSourceRef = { ...spec.dataSource };
  else if (
    spec.dataSource === undefined &&
    spec.dataSourceRef !== undefined &&
    spec.dataSourceRef.namespace === undefined
  ) {
    const { apiGroup, kind, name } = spec.dataSourceRef;
    const isKnown =
      (kind === 'PersistentVolumeClaim' && (apiGroup ?? '') === '') ||
      (kind === 'VolumeSnapshot' && apiGroup === 'snapshot.storage.k8s.io');
    if (isKnown) spec.dataSource = { kind, name, ...(apiGroup === undefined ? {} : { apiGroup }) };
  }
}

export function volumeDefinitions(clock: Clock): ResourceDefinition[] {
  return [
    defineResource(PersistentVolumes, {
      rules: {
        emptyStatus: { phase: 'Pending' },
        defaults: setPersistentVolumeDefaults,
        validate: validatePersistentVolume,
        validateUpdate: validatePersistentVolumeUpdate,
        warnings: persistentVolumeWarnings,
        prepareForCreate: (draft) => stampPhase(draft, undefined, clock),
      },
      statusRules: { prepareForUpdate: (draft, old) => stampPhase(draft, old, clock) },
      printer: persistentVolumePrinter,
    }),
    defineResource(PersistentVolumeClaims, {
      rules: {
        emptyStatus: { phase: 'Pending' },
        defaults: setPersistentVolumeClaimDefaults,
        prepareForCreate: syncDataSource,
        prepareForUpdate: syncDataSource,
        validate: validatePersistentVolumeClaim,
        validateUpdate: validatePersistentVolumeClaimUpdate,
        warnings: persistentVolumeClaimWarnings,
      },
      statusRules: { validateUpdate: validatePersistentVolumeClaimStatus },
      printer: persistentVolumeClaimPrinter,
    }),
  ];
}

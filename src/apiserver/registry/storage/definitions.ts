/** storage.k8s.io. Upstream: registry/storage. */
import { setCSIDriverDefaults, setStorageClassDefaults } from '../../../api/defaults/cluster.ts';
import type { CSIDriver, VolumeAttributesClass } from '../../../api/gen/storage-v1.ts';
import {
  CSIDrivers,
  CSINodes,
  CSIStorageCapacities,
  StorageClasses,
  VolumeAttachments,
  VolumeAttributesClasses,
  VolumeAttributesClassesV1beta1,
} from '../../../api/gen/resources.ts';
import {
  validateCSIDriver,
  validateCSIDriverUpdate,
  validateCSINode,
  validateCSINodeUpdate,
  validateCSIStorageCapacity,
  validateCSIStorageCapacityUpdate,
} from '../../../api/validation/csi.ts';
import {
  validateStorageClass,
  validateStorageClassUpdate,
  validateVolumeAttributesClass,
  validateVolumeAttributesClassUpdate,
} from '../../../api/validation/storage-class.ts';
import { validateVolumeAttachment, validateVolumeAttachmentUpdate } from '../../../api/validation/volume-attachment.ts';
import { csiDriverWarnings, storageCapacityWarnings, storageClassWarnings } from '../../../api/warnings/volumes.ts';
import { defineResource } from '../define-resource.ts';
import { specOf, type KindRules } from '../kind-strategy.ts';
import { createdPrinter } from '../printing.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import {
  csiDriverPrinter,
  csiNodePrinter,
  storageClassPrinter,
  volumeAttachmentPrinter,
  volumeAttributesClassPrinter,
} from './tables.ts';

const attributesRules: KindRules<VolumeAttributesClass> = {
  validate: validateVolumeAttributesClass,
  validateUpdate: validateVolumeAttributesClassUpdate,
};

/** The gate VolumeLimitScaling is off. */
function dropGatedDriverFields({ spec }: CSIDriver): void {
  delete spec?.preventPodSchedulingIfMissing;
}

export const storageDefinitions: readonly ResourceDefinition[] = [
  defineResource(StorageClasses, {
    rules: {
      defaults: setStorageClassDefaults,
      validate: validateStorageClass,
      validateUpdate: validateStorageClassUpdate,
      warnings: storageClassWarnings,
    },
    printer: storageClassPrinter,
  }),
  defineResource(VolumeAttachments, {
    rules: {
      emptyStatus: { attached: false },
      allowUnconditionalUpdate: false,
      validate: validateVolumeAttachment,
      validateUpdate: validateVolumeAttachmentUpdate,
    },
    statusRules: { keepsMetadata: true, validateUpdate: validateVolumeAttachmentUpdate },
    printer: volumeAttachmentPrinter,
  }),
  defineResource(CSIDrivers, {
    rules: {
      allowUnconditionalUpdate: false,
      generationOf: specOf,
      countsCreation: false,
      prepareForCreate: dropGatedDriverFields,
      prepareForUpdate: dropGatedDriverFields,
      defaults: setCSIDriverDefaults,
      validate: validateCSIDriver,
      validateUpdate: validateCSIDriverUpdate,
      warnings: csiDriverWarnings,
    },
    printer: csiDriverPrinter,
  }),
  defineResource(CSINodes, {
    rules: { allowUnconditionalUpdate: false, validate: validateCSINode, validateUpdate: validateCSINodeUpdate },
    printer: csiNodePrinter,
  }),
  defineResource(CSIStorageCapacities, {
    rules: {
      allowUnconditionalUpdate: false,
      validate: validateCSIStorageCapacity,
      validateUpdate: validateCSIStorageCapacityUpdate,
      warnings: storageCapacityWarnings,
    },
    printer: createdPrinter,
  }),
  defineResource(VolumeAttributesClasses, { rules: attributesRules, printer: volumeAttributesClassPrinter }),
  defineResource(VolumeAttributesClassesV1beta1, { rules: attributesRules, printer: volumeAttributesClassPrinter }),
];

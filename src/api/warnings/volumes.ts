/** Warnings about volumes, claims and classes. Upstream: pkg/api/persistentvolume, persistentvolumeclaim and storage. */
import { deepEqual } from '../../base/equal.ts';
import type { PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec } from '../gen/core-v1.ts';
import type { CSIDriver, CSIStorageCapacity, StorageClass } from '../gen/storage-v1.ts';
import { fractionWarnings } from './fractions.ts';
import { deprecatedNodeLabel, nodeLabelSelectorWarnings, nodeSelectorTermWarnings } from './node-labels.ts';

const STORAGE_CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';

/** Warnings about the requests of a claim spec at `path`. */
export function claimSpecWarnings({ resources = {} }: PersistentVolumeClaimSpec, path: string): string[] {
  return (['requests', 'limits'] as const).flatMap((list) =>
    fractionWarnings(resources[list]?.['storage'], `${path}.resources.${list}[storage]`),
  );
}

export function persistentVolumeClaimWarnings({ metadata, spec }: PersistentVolumeClaim): string[] {
  const isAnnotated = metadata.annotations?.[STORAGE_CLASS_ANNOTATION] !== undefined;
  const use = 'deprecated since v1.8; use "storageClassName" attribute instead';
  return [
    ...(isAnnotated ? [`metadata.annotations[${STORAGE_CLASS_ANNOTATION}]: ${use}`] : []),
    ...claimSpecWarnings(spec ?? {}, 'spec'),
  ];
}

const VOLUME_ANNOTATIONS = {
  [STORAGE_CLASS_ANNOTATION]: 'deprecated since v1.8; use "storageClassName" attribute instead',
  'volume.beta.kubernetes.io/mount-options': 'deprecated since v1.31; use "mountOptions" attribute instead',
} as const;

const DEPRECATED_SOURCES = [
  ['cephfs', 'cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['photonPersistentDisk', 'photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['scaleIO', 'scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['storageos', 'storageOS', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['rbd', 'rbd', 'deprecated in v1.28, non-functional in v1.31+'],
] as const;

const RECYCLE =
  'The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.';

export function persistentVolumeWarnings({ metadata, spec = {} }: PersistentVolume): string[] {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  return [
    ...Object.entries(VOLUME_ANNOTATIONS).flatMap(([key, text]) =>
      metadata.annotations?.[key] === undefined ? [] : [`metadata.annotations[${key}]: ${text}`],
    ),
    ...(spec.persistentVolumeReclaimPolicy === 'Recycle' ? [`spec.persistentVolumeReclaimPolicy: ${RECYCLE}`] : []),
    ...terms.flatMap((term, index) =>
      nodeSelectorTermWarnings(term, `spec.nodeAffinity.required.nodeSelectorTerms[${index}]`, false),
    ),
    ...DEPRECATED_SOURCES.flatMap(([field, name, text]) =>
      spec[field] === undefined ? [] : [`spec.${name}: ${text}`],
    ),
  ];
}

export function storageClassWarnings({ allowedTopologies = [] }: StorageClass): string[] {
  return allowedTopologies.flatMap(({ matchLabelExpressions = [] }, index) =>
    matchLabelExpressions.flatMap(({ key }, at) => {
      const text = deprecatedNodeLabel(key);
      return text === undefined ? [] : [`allowedTopologies[${index}].matchLabelExpressions[${at}].key: ${text}`];
    }),
  );
}

export function storageCapacityWarnings({ nodeTopology }: CSIStorageCapacity): string[] {
  return nodeLabelSelectorWarnings(nodeTopology, 'nodeTopology');
}

const TOKENS_IN_SECRETS =
  'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes';

export function csiDriverWarnings({ spec }: CSIDriver, old: CSIDriver | undefined): string[] {
  const { tokenRequests = [], serviceAccountTokenInSecrets } = spec;
  if (tokenRequests.length === 0 || serviceAccountTokenInSecrets !== undefined) return [];
  const isNew = old === undefined || !deepEqual(tokenRequests, old.spec.tokenRequests ?? []);
  return isNew ? [TOKENS_IN_SECRETS] : [];
}

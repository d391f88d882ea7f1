/** Which claims the local-path provisioner serves, and the volumes it creates. Pure. */
import type { Node, PersistentVolume, PersistentVolumeClaim } from '../../api/gen/core-v1.ts';
import type { StorageClass } from '../../api/gen/storage-v1.ts';
import type { Stored } from '../../api/object.ts';
import {
  LOCAL_PATH_PROVISIONER,
  LOCAL_PATH_ROOT,
  localPathPrefix,
  PROVISIONED_BY,
} from '../../component-helpers/local-path.ts';
import { requestedStorage } from '../../component-helpers/claim-size.ts';

/** The longest file name in bytes; names here are ASCII. */
const MAX_NAME = 255;
const HOSTNAME = 'kubernetes.io/hostname';
/** Finalizer that keeps a deleted volume until its directory is gone. */
export const FINALIZER = 'external-provisioner.volume.kubernetes.io/finalizer';
const STORAGE_PROVISIONER = 'volume.kubernetes.io/storage-provisioner';
const BETA_STORAGE_PROVISIONER = 'volume.beta.kubernetes.io/storage-provisioner';

/** Whether an unbound claim waits for this provisioner. */
export function isOurs({ metadata, spec, status }: PersistentVolumeClaim): boolean {
  const provisioner =
    metadata.annotations?.[STORAGE_PROVISIONER] ?? metadata.annotations?.[BETA_STORAGE_PROVISIONER] ?? '';
  return (
    provisioner === LOCAL_PATH_PROVISIONER &&
    (spec?.volumeName ?? '') === '' &&
    (status?.phase ?? 'Pending') === 'Pending' &&
    metadata.deletionTimestamp === undefined
  );
}

/**
 * Whether a volume must be deleted with its directory. A terminating volume without the finalizer has no directory
 * any more.
 */
export function isToBeDeleted({ metadata, spec, status }: PersistentVolume): boolean {
  return (
    metadata.annotations?.[PROVISIONED_BY] === LOCAL_PATH_PROVISIONER &&
    status?.phase === 'Released' &&
    spec?.persistentVolumeReclaimPolicy === 'Delete' &&
    (metadata.deletionTimestamp === undefined || metadata.finalizers?.includes(FINALIZER) === true)
  );
}

/**
 * The change of the volume's finalizer by its reclaim policy; undefined: none. Upstream: sig-storage-lib,
 * handleProtectionFinalizer.
 */
export function finalizerChange({ metadata, spec, status }: PersistentVolume): 'add' | 'remove' | undefined {
  if (metadata.annotations?.[PROVISIONED_BY] !== LOCAL_PATH_PROVISIONER) return undefined;
  const held = metadata.finalizers?.includes(FINALIZER) === true;
  if (spec?.persistentVolumeReclaimPolicy !== 'Delete') return held ? 'remove' : undefined;
  const bound = status?.phase === 'Bound' && metadata.deletionTimestamp === undefined;
  return bound && !held ? 'add' : undefined;
}

/** Why no node can provide what the claim requests; undefined: a node can. */
export function unsupportedReason({ spec }: PersistentVolumeClaim, storageClass: StorageClass): string | undefined {
  const modes = (spec?.accessModes ?? []).filter((mode) => mode !== 'ReadWriteOnce');
  if (modes.length > 0) return `access mode ${modes.join(', ')} is not supported: only ReadWriteOnce is`;
  if (spec?.volumeMode === 'Block') return 'volumeMode Block is not supported: only Filesystem is';
  if (spec?.selector !== undefined) return 'claim.spec.selector is not supported';
  if (spec?.dataSource !== undefined || spec?.dataSourceRef !== undefined) return 'data sources are not supported';
  if (Object.keys(storageClass.parameters ?? {}).length > 0)
    return `parameters of StorageClass "${storageClass.metadata.name}" are not supported`;
  if ((storageClass.mountOptions ?? []).length > 0)
    return `mountOptions of StorageClass "${storageClass.metadata.name}" are not supported`;
  if (storageClass.volumeBindingMode !== 'WaitForFirstConsumer')
    return `StorageClass "${storageClass.metadata.name}" needs volumeBindingMode WaitForFirstConsumer`;
  return undefined;
}

/** The volume of a claim on a node; undefined when the node has no directory for volumes. */
export function volumeFor(
  claim: Stored<PersistentVolumeClaim>,
  storageClass: Stored<StorageClass>,
  node: Node,
): PersistentVolume | undefined {
  const root = node.metadata.annotations?.[LOCAL_PATH_ROOT] ?? '';
  if (!root.startsWith('/')) return undefined;
  const { uid, namespace, name, resourceVersion } = claim.metadata;
  const volumeName = `pvc-${uid}`;
  const reclaimPolicy = storageClass.reclaimPolicy ?? 'Delete';
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name: volumeName,
      annotations: { [PROVISIONED_BY]: LOCAL_PATH_PROVISIONER },
      ...(reclaimPolicy === 'Delete' && { finalizers: [FINALIZER] }),
    },
    spec: {
      capacity: { storage: requestedStorage(claim) },
      accessModes: ['ReadWriteOnce'],
      volumeMode: 'Filesystem',
      persistentVolumeReclaimPolicy: reclaimPolicy,
      storageClassName: storageClass.metadata.name,
      local: { path: `${root}/${`${localPathPrefix(volumeName)}${namespace}_${name}`.slice(0, MAX_NAME)}` },
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid, resourceVersion },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: HOSTNAME, operator: 'In', values: [hostnameOf(node)] }] }],
        },
      },
    },
  };
}

/** The node of a volume, by its node affinity. */
export function nodeOf(volume: PersistentVolume, nodes: readonly Node[]): Node | undefined {
  const terms = volume.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const expression = terms[0]?.matchExpressions?.find(({ key }) => key === HOSTNAME);
  return nodes.find((node) => expression?.values?.includes(hostnameOf(node)));
}

function hostnameOf({ metadata }: Node): string {
  return metadata.labels?.[HOSTNAME] ?? metadata.name ?? '';
}

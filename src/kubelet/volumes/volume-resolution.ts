/**
 * Resolves a pod's volume to its spec and plugin: claims to their persistent volume; kinds without a plugin are
 * refused by name. Upstream: createVolumeSpec and getPVCExtractPV in pkg/kubelet/volumemanager/populator.
 */
import type {
  Container,
  EphemeralContainer,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Volume,
} from '../../api/gen/core-v1.ts';
import { PersistentVolumeClaims, PersistentVolumes } from '../../api/gen/resources.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';
import { csiSourceOf, migratedInlineVolume } from '../../component-helpers/csi-translation.ts';
import { podNamespace } from '../types/pod-update.ts';
import { volumePlugins } from './plugins/list.ts';
import type { VolumePlugin, VolumeSource, VolumeSpec } from './volume-plugin.ts';

/** A volume and its plugin. */
export interface ResolvedVolume {
  readonly spec: VolumeSpec;
  readonly plugin: VolumePlugin;
  /** The name in messages: the persistent volume's, or the pod's own. */
  readonly displayName: string;
}

/** The volume cannot be processed (yet): its claim is not ready, or its kind is not supported. */
export class VolumeProcessingError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'VolumeProcessingError';
  }
}

/** Names of volumes that a container uses as mount or device. Others are not set up. */
export function usedVolumeNames(pod: Pod): {
  readonly mounted: ReadonlySet<string>;
  readonly devices: ReadonlySet<string>;
} {
  const mounted = new Set<string>();
  const devices = new Set<string>();
  const visit = (container: Container | EphemeralContainer): void => {
    for (const mount of container.volumeMounts ?? []) mounted.add(mount.name);
    for (const device of container.volumeDevices ?? []) devices.add(device.name);
  };
  for (const list of [pod.spec?.initContainers, pod.spec?.containers, pod.spec?.ephemeralContainers])
    list?.forEach(visit);
  return { mounted, devices };
}

/** Resolves the volume. Rejects with VolumeProcessingError. */
export async function resolveVolume(client: Client, pod: Pod, volume: Volume): Promise<ResolvedVolume> {
  const claimName =
    volume.persistentVolumeClaim?.claimName ??
    (volume.ephemeral === undefined ? undefined : `${pod.metadata.name}-${volume.name}`);
  if (claimName === undefined) return inlineVolume(pod, volume);
  const { persistentVolume, claim } = await boundVolume(client, pod, { volume, claimName });
  const spec = persistentVolume.spec ?? {};
  const csi = csiSourceOf(persistentVolume);
  const source = { ...definedOf(spec), ...(csi === undefined ? {} : { persistentCsi: csi }) };
  return withPlugin(
    { name: volume.name, source, readOnly: volume.persistentVolumeClaim?.readOnly ?? false, persistentVolume, claim },
    spec,
  );
}

/** The parts of a persistent volume that plugins read. */
function definedOf({
  fc,
  flexVolume,
  glusterfs,
  hostPath,
  iscsi,
  local,
  nfs,
  rbd,
}: NonNullable<PersistentVolume['spec']>): VolumeSource {
  const sources = { fc, flexVolume, glusterfs, hostPath, iscsi, local, nfs, rbd };
  return Object.fromEntries(Object.entries(sources).filter(([, source]) => source !== undefined));
}

/** A volume defined in the pod; a migrated type is converted to a persistent volume of its CSI driver. */
function inlineVolume(pod: Pod, volume: Volume): ResolvedVolume {
  const persistentVolume = migratedInlineVolume(volume, podNamespace(pod));
  const csi = persistentVolume?.spec?.csi;
  if (persistentVolume === undefined || csi === undefined)
    return withPlugin({ name: volume.name, source: volume, readOnly: false }, volume);
  const source = { persistentCsi: csi };
  return withPlugin({ name: volume.name, source, readOnly: csi.readOnly ?? false, persistentVolume }, volume);
}

function withPlugin(spec: VolumeSpec, described: object): ResolvedVolume {
  const plugin = volumePlugins.find((candidate) => candidate.supports(spec.source));
  const displayName = spec.persistentVolume?.metadata.name ?? spec.name;
  if (plugin !== undefined) return { spec, plugin, displayName };
  const known = new Set([
    'name',
    'accessModes',
    'capacity',
    'claimRef',
    'mountOptions',
    'nodeAffinity',
    'persistentVolumeReclaimPolicy',
    'storageClassName',
    'volumeAttributesClassName',
    'volumeMode',
  ]);
  const kind =
    Object.entries(described).find(([key, value]) => !known.has(key) && value !== undefined)?.[0] ?? 'unknown';
  throw new VolumeProcessingError(
    `failed to get Plugin from volumeSpec for volume "${displayName}" err=no volume plugin matched: volumes of type ${kind} are no longer supported, as upstream`,
  );
}

interface ClaimOfPod {
  readonly volume: Volume;
  readonly claimName: string;
}

async function boundVolume(
  client: Client,
  pod: Pod,
  { volume, claimName }: ClaimOfPod,
): Promise<{ readonly persistentVolume: PersistentVolume; readonly claim: PersistentVolumeClaim }> {
  const namespace = podNamespace(pod);
  const about = `error processing PVC ${namespace}/${claimName}`;
  const fail = (text: string, cause?: unknown): VolumeProcessingError =>
    new VolumeProcessingError(`${about}: ${text}`, { cause });
  const claim = await client
    .resource(PersistentVolumeClaims)
    .get({ namespace, name: claimName })
    .catch((error: unknown) => {
      throw fail(`failed to fetch PVC from API server: ${errorMessage(error)}`, error);
    });
  checkClaim(claim, { pod, volume, fail });
  const name = claim.spec!.volumeName!;
  const found = await client
    .resource(PersistentVolumes)
    .get({ name })
    .catch((error: unknown) => {
      throw fail(`failed to fetch PV ${name} from API server: ${errorMessage(error)}`, error);
    });
  const { claimRef } = found.spec ?? {};
  if (claimRef === undefined)
    throw fail(`found PV object ${name} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`);
  if (claimRef.uid !== claim.metadata.uid) {
    throw fail(
      `found PV object ${name} but its pv.Spec.ClaimRef.UID ${claimRef.uid ?? ''} does not point to claim.UID ${claim.metadata.uid}`,
    );
  }
  checkMode(found, { pod, volume });
  return { persistentVolume: found, claim };
}

function checkClaim(
  claim: PersistentVolumeClaim,
  request: { pod: Pod; volume: Volume; fail: (text: string) => Error },
): void {
  const { pod, volume, fail } = request;
  if (volume.ephemeral !== undefined) {
    const owner = (claim.metadata.ownerReferences ?? []).find((reference) => reference.controller === true);
    if (owner?.uid !== pod.metadata.uid) {
      throw fail(
        `PVC ${claim.metadata.namespace}/${claim.metadata.name} was not created for pod ${pod.metadata.namespace}/${pod.metadata.name} (pod is not owner)`,
      );
    }
  }
  if (claim.metadata.deletionTimestamp !== undefined) throw fail('PVC is being deleted');
  if (claim.status?.phase !== 'Bound' || !claim.spec?.volumeName) throw fail('PVC is not bound');
}

/** Rejects a block volume that is mounted, and a file system that is used as a device. */
function checkMode(found: PersistentVolume, { pod, volume }: { pod: Pod; volume: Volume }): void {
  const { mounted, devices } = usedVolumeNames(pod);
  const mode = found.spec?.volumeMode ?? 'Filesystem';
  if (mounted.has(volume.name) && mode !== 'Filesystem')
    throw new VolumeProcessingError(`volume ${volume.name} has volumeMode ${mode}, but is specified in volumeMounts`);
  if (devices.has(volume.name) && mode !== 'Block')
    throw new VolumeProcessingError(`volume ${volume.name} has volumeMode ${mode}, but is specified in volumeDevices`);
}

/**
 * Provisions volumes in directories of nodes: a claim of ours gets one on the node its pod was scheduled to, made by that
 * node's kubelet at the first mount, and removed by it when the claim is gone. Nothing keeps a volume to its size. Upstream
 * has no such controller; annotations and events are those of its external provisioners (sig-storage-lib).
 *
 * Watches: claims, volumes, storage classes, nodes. Creates and deletes volumes, takes the node off claims it cannot serve
 * there. Invariant: a volume that is to be reclaimed goes only after its directory, or with its node, also when somebody
 * deletes it before its claim: a finalizer keeps it.
 */
import { Nodes, PersistentVolumeClaims, PersistentVolumes, StorageClasses } from '../../api/gen/resources.ts';
import type { Node, PersistentVolume, PersistentVolumeClaim } from '../../api/gen/core-v1.ts';
import type { StorageClass } from '../../api/gen/storage-v1.ts';
import { isReason } from '../../api/status-error.ts';
import type { Stored } from '../../api/object.ts';
import { errorMessage } from '../../base/errors.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { LOCAL_PATH_PROVISIONER, LOCAL_VOLUMES_ROUTE } from '../../component-helpers/local-path.ts';
import { isNodeReady } from '../../component-helpers/nodes.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';
import { FINALIZER, finalizerChange, isOurs, isToBeDeleted, nodeOf, refusal, volumeFor } from './provisioning.ts';

const NAME = 'local-path-provisioner-controller';
const ACCOUNT = 'local-path-provisioner';
const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
/** A node that does not answer must not keep a worker. */
const REMOVAL_TIMEOUT_MS = 30_000;
const WORKERS = 4;

export function createLocalPathProvisioner(deps: ControllerDeps): Controller {
  const client = deps.clientFor(ACCOUNT);
  const recorder = deps.recorderFor(LOCAL_PATH_PROVISIONER);
  const claims = deps.informers.informer(PersistentVolumeClaims);
  const volumes = deps.informers.informer(PersistentVolumes);
  const classes = deps.informers.informer(StorageClasses);
  const nodes = deps.informers.informer(Nodes);
  const informers = informerList(claims, volumes, classes, nodes);
  const common = { name: NAME, workers: WORKERS, informers };
  const claimLoop = createKeyedLoop(deps, { ...common, queueName: 'local_path_claims', sync: syncClaim });
  const volumeLoop = createKeyedLoop(deps, { ...common, queueName: 'local_path_volumes', sync: syncVolume });

  async function syncClaim(key: string, signal: AbortSignal): Promise<void> {
    const claim = claims.get(parseKey(key));
    if (claim === undefined || !isOurs(claim)) return;
    const storageClass = classes.get({ name: claim.spec?.storageClassName ?? '' });
    // A class that comes later brings its claims back; the binder says that it is missing.
    if (storageClass?.provisioner !== LOCAL_PATH_PROVISIONER) return;
    const problem = refusal(claim, storageClass);
    if (problem !== undefined) return fail(claim, storageClass, problem);
    const nodeName = claim.metadata.annotations?.[SELECTED_NODE] ?? '';
    if (nodeName !== '') await provision(claim, { storageClass, nodeName }, signal);
  }

  async function provision(
    claim: Stored<PersistentVolumeClaim>,
    { storageClass, nodeName }: { readonly storageClass: Stored<StorageClass>; readonly nodeName: string },
    signal: AbortSignal,
  ): Promise<void> {
    const node = nodes.get({ name: nodeName });
    const volume = node === undefined ? undefined : volumeFor(claim, storageClass, node);
    if (volume === undefined) {
      const why = node === undefined ? 'does not exist' : 'keeps no local-path volumes';
      fail(claim, storageClass, `node "${nodeName}" ${why}`);
      return await giveBack(claim, nodeName, signal);
    }
    try {
      await client.resource(PersistentVolumes).create(volume, { signal });
    } catch (error) {
      if (isReason(error, 'AlreadyExists')) return;
      fail(claim, storageClass, errorMessage(error));
      throw error;
    }
    const message = `Successfully provisioned volume ${volume.metadata.name}`;
    recorder.event(claim, 'Normal', 'ProvisioningSucceeded', message);
  }

  function fail(claim: PersistentVolumeClaim, storageClass: StorageClass, problem: string): void {
    const message = `failed to provision volume with StorageClass "${storageClass.metadata.name}": ${problem}`;
    recorder.event(claim, 'Warning', 'ProvisioningFailed', message);
  }

  /** The scheduler chooses again. */
  async function giveBack(claim: PersistentVolumeClaim, nodeName: string, signal: AbortSignal): Promise<void> {
    const at = `/metadata/annotations/${SELECTED_NODE.replace('/', '~1')}`;
    const operations = [
      { op: 'test', path: at, value: nodeName },
      { op: 'remove', path: at },
    ];
    await client
      .resource(PersistentVolumeClaims)
      .patch(parseKey(keyOfObject(claim)), { type: 'json', operations }, { signal });
  }

  async function syncVolume(key: string, signal: AbortSignal): Promise<void> {
    const volume = volumes.get(parseKey(key));
    if (volume === undefined) return;
    const change = finalizerChange(volume);
    // The event of the write brings the volume back.
    if (change !== undefined) return await changeFinalizer(volume, change, signal);
    if (!isToBeDeleted(volume)) return;
    const node = nodeOf(volume, nodes.list());
    if (node !== undefined) await removeDirectory(volume, node, signal);
    const { name, uid, deletionTimestamp } = volume.metadata;
    try {
      if (deletionTimestamp === undefined)
        await client.resource(PersistentVolumes).delete({ name }, { preconditions: { uid }, signal });
      if (volume.metadata.finalizers?.includes(FINALIZER) === true) await changeFinalizer(volume, 'remove', signal);
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
    }
  }

  /** Leaves other finalizers, which others change at the same time, alone. */
  async function changeFinalizer(
    { metadata: { name, uid } }: Stored<PersistentVolume>,
    change: 'add' | 'remove',
    signal: AbortSignal,
  ): Promise<void> {
    const key = change === 'add' ? 'finalizers' : '$deleteFromPrimitiveList/finalizers';
    const patch = { metadata: { uid, [key]: [FINALIZER] } };
    await client.resource(PersistentVolumes).patch({ name }, { type: 'strategic', patch }, { signal });
  }

  async function removeDirectory(volume: PersistentVolume, { metadata }: Node, signal: AbortSignal): Promise<void> {
    const timeout = new AbortController();
    const cancel = deps.platform.clock.setTimer(REMOVAL_TIMEOUT_MS, () =>
      timeout.abort(new Error(`node "${metadata.name}" did not answer in ${REMOVAL_TIMEOUT_MS / 1000} s`)),
    );
    try {
      const path = `/api/v1/nodes/${metadata.name}/proxy/${LOCAL_VOLUMES_ROUTE}/${volume.metadata.name}`;
      await client.raw({ method: 'DELETE', path, signal: AbortSignal.any([signal, timeout.signal]) });
    } catch (error) {
      // The kubelet there keeps no such volumes (any more): there is nothing to remove.
      if (isReason(error, 'NotFound')) return;
      if (!signal.aborted) recorder.event(volume, 'Warning', 'VolumeFailedDelete', errorMessage(error));
      throw error;
    } finally {
      cancel();
    }
  }

  const claimsOf = (storageClass: StorageClass): void => {
    for (const claim of claims.list())
      if (claim.spec?.storageClassName === storageClass.metadata.name) claimLoop.queue.add(keyOfObject(claim));
  };
  const releasedVolumes = (): void => {
    for (const volume of volumes.list()) if (isToBeDeleted(volume)) volumeLoop.queue.add(keyOfObject(volume));
  };
  claims.addHandler({
    onAdd: (claim) => claimLoop.queue.add(keyOfObject(claim)),
    onUpdate: (_, claim) => claimLoop.queue.add(keyOfObject(claim)),
  });
  classes.addHandler({ onAdd: claimsOf });
  volumes.addHandler({
    onAdd: (volume) => volumeLoop.queue.add(keyOfObject(volume)),
    onUpdate: (_, volume) => volumeLoop.queue.add(keyOfObject(volume)),
  });
  nodes.addHandler({
    onUpdate: (old, node) => {
      if (!isNodeReady(old) && isNodeReady(node)) releasedVolumes();
    },
    onDelete: releasedVolumes,
  });
  return {
    name: NAME,
    async start(signal) {
      await Promise.all([claimLoop.start(signal), volumeLoop.start(signal)]);
    },
  };
}

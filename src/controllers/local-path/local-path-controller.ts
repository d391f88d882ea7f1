/**
 * Provisions volumes in directories of nodes: a claim gets a volume on the node its pod was scheduled to. That node's
 * kubelet creates the directory at the first mount, and removes it after the claim is deleted. The size of a volume
 * is not enforced. Upstream has no such controller; annotations and events are those of its external provisioners
 * (sig-storage-lib).
 *
 * Watches: claims, volumes, storage classes, nodes. Creates and deletes volumes, and clears the selected node of
 * claims it cannot serve there. Invariant: a volume with reclaim policy Delete is deleted only after its directory,
 * or with its node, even when somebody deletes it before its claim: a finalizer keeps it.
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
import { createKeyedLoop, informerList, type Controller, type ControllerDeps, type KeyedLoop } from '../controller.ts';
import {
  FINALIZER,
  finalizerChange,
  isOurs,
  isToBeDeleted,
  nodeOf,
  unsupportedReason,
  volumeFor,
} from './provisioning.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import type { Informer } from '../../client/informer.ts';

const NAME = 'local-path-provisioner-controller';
const ACCOUNT = 'local-path-provisioner';
const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
/** Limits the wait for a node that does not answer. */
const REMOVAL_TIMEOUT_MS = 30_000;
const WORKERS = 4;

export function createLocalPathProvisioner(deps: ControllerDeps): Controller {
  return new LocalPathProvisioner(deps);
}

class LocalPathProvisioner implements Controller {
  readonly name = NAME;
  readonly #deps: ControllerDeps;
  readonly #client: Client;
  readonly #recorder: EventRecorder;
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #volumes: Informer<PersistentVolume>;
  readonly #classes: Informer<StorageClass>;
  readonly #nodes: Informer<Node>;
  readonly #claimLoop: KeyedLoop;
  readonly #volumeLoop: KeyedLoop;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#client = deps.clientFor(ACCOUNT);
    this.#recorder = deps.recorderFor(LOCAL_PATH_PROVISIONER);
    this.#claims = deps.informers.informer(PersistentVolumeClaims);
    this.#volumes = deps.informers.informer(PersistentVolumes);
    this.#classes = deps.informers.informer(StorageClasses);
    this.#nodes = deps.informers.informer(Nodes);
    const informers = informerList(this.#claims, this.#volumes, this.#classes, this.#nodes);
    const common = { name: NAME, workers: WORKERS, informers };
    this.#claimLoop = createKeyedLoop(deps, {
      ...common,
      queueName: 'local_path_claims',
      sync: (key, signal) => this.#syncClaim(key, signal),
    });
    this.#volumeLoop = createKeyedLoop(deps, {
      ...common,
      queueName: 'local_path_volumes',
      sync: (key, signal) => this.#syncVolume(key, signal),
    });
    this.#addHandlers();
  }

  async #syncClaim(key: string, signal: AbortSignal): Promise<void> {
    const claim = this.#claims.get(parseKey(key));
    if (claim === undefined || !isOurs(claim)) return;
    const storageClass = this.#classes.get({ name: claim.spec?.storageClassName ?? '' });
    // A class that is created later enqueues its claims; the binder reports that it is missing.
    if (storageClass?.provisioner !== LOCAL_PATH_PROVISIONER) return;
    const problem = unsupportedReason(claim, storageClass);
    if (problem !== undefined) return this.#fail(claim, storageClass, problem);
    const nodeName = claim.metadata.annotations?.[SELECTED_NODE] ?? '';
    if (nodeName !== '') await this.#provision(claim, { storageClass, nodeName }, signal);
  }

  async #provision(
    claim: Stored<PersistentVolumeClaim>,
    { storageClass, nodeName }: { readonly storageClass: Stored<StorageClass>; readonly nodeName: string },
    signal: AbortSignal,
  ): Promise<void> {
    const node = this.#nodes.get({ name: nodeName });
    const volume = node === undefined ? undefined : volumeFor(claim, storageClass, node);
    if (volume === undefined) {
      const why = node === undefined ? 'does not exist' : 'keeps no local-path volumes';
      this.#fail(claim, storageClass, `node "${nodeName}" ${why}`);
      return await this.#giveBack(claim, nodeName, signal);
    }
    try {
      await this.#client.resource(PersistentVolumes).create(volume, { signal });
    } catch (error) {
      if (isReason(error, 'AlreadyExists')) return;
      this.#fail(claim, storageClass, errorMessage(error));
      throw error;
    }
    const message = `Successfully provisioned volume ${volume.metadata.name}`;
    this.#recorder.event(claim, 'Normal', 'ProvisioningSucceeded', message);
  }

  #fail(claim: PersistentVolumeClaim, storageClass: StorageClass, problem: string): void {
    const message = `failed to provision volume with StorageClass "${storageClass.metadata.name}": ${problem}`;
    this.#recorder.event(claim, 'Warning', 'ProvisioningFailed', message);
  }

  /** Clears the selected node, so that the scheduler chooses again. */
  async #giveBack(claim: PersistentVolumeClaim, nodeName: string, signal: AbortSignal): Promise<void> {
    const at = `/metadata/annotations/${SELECTED_NODE.replace('/', '~1')}`;
    const operations = [
      { op: 'test', path: at, value: nodeName },
      { op: 'remove', path: at },
    ];
    await this.#client
      .resource(PersistentVolumeClaims)
      .patch(parseKey(keyOfObject(claim)), { type: 'json', operations }, { signal });
  }

  async #syncVolume(key: string, signal: AbortSignal): Promise<void> {
    const volume = this.#volumes.get(parseKey(key));
    if (volume === undefined) return;
    const change = finalizerChange(volume);
    // The event of this write enqueues the volume again.
    if (change !== undefined) return await this.#changeFinalizer(volume, change, signal);
    if (!isToBeDeleted(volume)) return;
    const node = nodeOf(volume, this.#nodes.list());
    if (node !== undefined) await this.#removeDirectory(volume, node, signal);
    const { name, uid, deletionTimestamp } = volume.metadata;
    try {
      if (deletionTimestamp === undefined)
        await this.#client.resource(PersistentVolumes).delete({ name }, { preconditions: { uid }, signal });
      if (volume.metadata.finalizers?.includes(FINALIZER) === true)
        await this.#changeFinalizer(volume, 'remove', signal);
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
    }
  }

  /** Changes only its own finalizer, since others change theirs at the same time. */
  async #changeFinalizer(
    { metadata: { name, uid } }: Stored<PersistentVolume>,
    change: 'add' | 'remove',
    signal: AbortSignal,
  ): Promise<void> {
    const key = change === 'add' ? 'finalizers' : '$deleteFromPrimitiveList/finalizers';
    const patch = { metadata: { uid, [key]: [FINALIZER] } };
    await this.#client.resource(PersistentVolumes).patch({ name }, { type: 'strategic', patch }, { signal });
  }

  async #removeDirectory(volume: PersistentVolume, { metadata }: Node, signal: AbortSignal): Promise<void> {
    const timeout = new AbortController();
    const cancel = this.#deps.platform.clock.setTimer(REMOVAL_TIMEOUT_MS, () =>
      timeout.abort(new Error(`node "${metadata.name}" did not answer in ${REMOVAL_TIMEOUT_MS / 1000} s`)),
    );
    try {
      const path = `/api/v1/nodes/${metadata.name}/proxy/${LOCAL_VOLUMES_ROUTE}/${volume.metadata.name}`;
      await this.#client.raw({ method: 'DELETE', path, signal: AbortSignal.any([signal, timeout.signal]) });
    } catch (error) {
      // The kubelet there has no local-path volumes, so there is nothing to remove.
      if (isReason(error, 'NotFound')) return;
      if (!signal.aborted) this.#recorder.event(volume, 'Warning', 'VolumeFailedDelete', errorMessage(error));
      throw error;
    } finally {
      cancel();
    }
  }

  #claimsOf(storageClass: StorageClass): void {
    for (const claim of this.#claims.list())
      if (claim.spec?.storageClassName === storageClass.metadata.name) this.#claimLoop.queue.add(keyOfObject(claim));
  }

  #releasedVolumes(): void {
    for (const volume of this.#volumes.list())
      if (isToBeDeleted(volume)) this.#volumeLoop.queue.add(keyOfObject(volume));
  }

  async start(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#claimLoop.start(signal), this.#volumeLoop.start(signal)]);
  }

  #addHandlers(): void {
    this.#claims.addHandler({
      onAdd: (claim) => this.#claimLoop.queue.add(keyOfObject(claim)),
      onUpdate: (_, claim) => this.#claimLoop.queue.add(keyOfObject(claim)),
    });
    this.#classes.addHandler({ onAdd: (storageClass) => this.#claimsOf(storageClass) });
    this.#volumes.addHandler({
      onAdd: (volume) => this.#volumeLoop.queue.add(keyOfObject(volume)),
      onUpdate: (_, volume) => this.#volumeLoop.queue.add(keyOfObject(volume)),
    });
    this.#nodes.addHandler({
      onUpdate: (old, node) => {
        if (!isNodeReady(old) && isNodeReady(node)) this.#releasedVolumes();
      },
      onDelete: () => this.#releasedVolumes(),
    });
  }
}

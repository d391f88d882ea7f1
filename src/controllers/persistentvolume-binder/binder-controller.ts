/**
 * Binds claims to volumes and follows both until they are released. Upstream: pkg/controller/volume/persistentvolume.
 *
 * Watches: claims, volumes, storage classes, pods. Writes alone: volumes' claimRef and phase, claims' volumeName,
 * bind annotations and phase, the default class of claims created before it. Every write has the resource version it
 * was decided on, so that no volume is bound to two claims. Differs on purpose: it neither provisions, deletes nor
 * recycles storage itself. External provisioners serve claims; a volume that must be deleted without one is marked
 * Failed, as upstream does without a plugin.
 */
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/gen/core-v1.ts';
import { PersistentVolumeClaims, PersistentVolumes, Pods, StorageClasses } from '../../api/gen/resources.ts';
import type { StorageClass } from '../../api/gen/storage-v1.ts';
import type { Stored } from '../../api/object.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import { onAbort } from '../../base/abort.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import { type Informer, onEveryChange } from '../../client/informer.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { defaultStorageClass, namesStorageClass } from '../../component-helpers/default-storage-class.ts';
import { claimKeysOf, PODS_BY_CLAIM } from '../../component-helpers/pod-claims.ts';
import { equalStatus } from '../../component-helpers/wire-equality.ts';
import type { Clock } from '../../platform/clock.ts';
import { type Controller, type ControllerDeps, createKeyedLoop, informerList, type KeyedLoop } from '../controller.ts';
import { wantedFinalizers } from './deletion-finalizers.ts';
import { BIND_COMPLETED, BOUND_BY_CONTROLLER, classOf, findVolume, firstSeen, mismatch, refersTo } from './matching.ts';
import { type BinderMetrics, createBinderMetrics, exposeVolumes } from './metrics.ts';
import { emitEventForUnboundDelayBindingClaim, provisionClaim } from './provision-claim.ts';
import { reclaimVolume, updateVolumePhase } from './volume-phase.ts';
import { addUseIndex, volumesFor } from './volumes-by-use.ts';

const ACCOUNT = 'persistent-volume-binder';
const NAME = 'persistentvolume-binder-controller';
const RECORDER = 'persistentvolume-controller';
const RESYNC_MS = 15_000;
const SELECTED_NODE = 'volume.kubernetes.io/selected-node';

export function createPersistentVolumeBinder(deps: ControllerDeps): Controller {
  return new PersistentVolumeBinder(deps);
}

/** Binds claims and volumes. Upstream: persistentvolume.PersistentVolumeController. */
class PersistentVolumeBinder implements Controller {
  readonly name = NAME;
  readonly #deps: ControllerDeps;
  readonly #clock: Clock;
  readonly #client: Client;
  readonly #recorder: EventRecorder;
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #volumes: Informer<PersistentVolume>;
  readonly #classes: Informer<StorageClass>;
  readonly #pods: Informer<Pod>;
  readonly #metrics: BinderMetrics;
  /** Passed to the functions that provision and reclaim. */
  readonly #volumeDeps: Parameters<typeof provisionClaim>[0] & Parameters<typeof reclaimVolume>[0];
  readonly #claimLoop: KeyedLoop;
  readonly #volumeLoop: KeyedLoop;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#clock = deps.platform.clock;
    this.#client = deps.clientFor(ACCOUNT);
    this.#recorder = deps.recorderFor(RECORDER);
    this.#claims = deps.informers.informer(PersistentVolumeClaims);
    this.#volumes = deps.informers.informer(PersistentVolumes);
    this.#classes = deps.informers.informer(StorageClasses);
    this.#pods = deps.informers.informer(Pods);
    this.#metrics = createBinderMetrics(deps.platform.metrics);
    this.#volumeDeps = { client: this.#client, clock: this.#clock, recorder: this.#recorder, pods: this.#pods };
    const informers = informerList(this.#claims, this.#volumes, this.#classes, this.#pods);
    this.#claimLoop = createKeyedLoop(deps, {
      name: NAME,
      queueName: 'claims',
      workers: 1,
      informers,
      sync: (key, signal) => this.#syncClaim(key, signal),
    });
    this.#volumeLoop = createKeyedLoop(deps, {
      name: NAME,
      queueName: 'volumes',
      workers: 1,
      informers,
      sync: (key, signal) => this.#syncVolume(key, signal),
    });
    this.#addHandlers();
  }

  async #syncClaim(key: string, signal: AbortSignal): Promise<void> {
    const claim = this.#claims.get(parseKey(key));
    if (claim === undefined) return;
    const bound = claim.metadata.annotations?.[BIND_COMPLETED] !== undefined;
    const named = claim.spec?.volumeName ?? '';
    if (bound) await this.#followBound(claim, named, signal);
    else if (named === '') await this.#bindAny(claim, signal);
    else await this.#bindNamed(claim, named, signal);
  }

  async #followBound(claim: Stored<PersistentVolumeClaim>, named: string, signal: AbortSignal): Promise<void> {
    const volume = named === '' ? undefined : this.#volumes.get({ name: named });
    if (volume === undefined) {
      const lost = named === '' ? 'reference to PersistentVolume' : 'its PersistentVolume';
      return await this.#lose(claim, {
        reason: 'ClaimLost',
        message: `Bound claim has lost ${lost}. Data on the volume is lost!`,
        signal,
      });
    }
    if (volume.spec?.claimRef === undefined || refersTo(volume, claim)) return await this.#bind(volume, claim, signal);
    await this.#lose(claim, {
      reason: 'ClaimMisbound',
      message: 'Two claims are bound to the same volume, this one is bound incorrectly',
      signal,
    });
  }

  async #lose(
    claim: PersistentVolumeClaim,
    why: { readonly reason: 'ClaimLost' | 'ClaimMisbound'; readonly message: string; readonly signal: AbortSignal },
  ): Promise<void> {
    if (claim.status?.phase === 'Lost') return;
    this.#recorder.event(claim, 'Warning', why.reason, why.message);
    await this.#writeClaimStatus(claim, { phase: 'Lost' }, why.signal);
  }

  async #bindAny(claim: Stored<PersistentVolumeClaim>, signal: AbortSignal): Promise<void> {
    const storageClass = this.#classes.get({ name: classOf(claim) });
    const delayed =
      storageClass?.volumeBindingMode === 'WaitForFirstConsumer' &&
      claim.metadata.annotations?.[SELECTED_NODE] === undefined;
    const volume = findVolume(claim, volumesFor(this.#volumes, claim), delayed);
    if (volume !== undefined) return await this.#bind(volume, claim, signal);
    if (await this.#takeDefaultClass(claim, signal)) return;
    await this.#writeClaimStatus(claim, { ...claim.status, phase: 'Pending' }, signal);
    if (delayed) emitEventForUnboundDelayBindingClaim(this.#volumeDeps, claim);
    else await provisionClaim(this.#volumeDeps, claim, storageClass, signal);
  }

  /** Sets the default class of a claim without one. True when the claim was changed: its event continues the sync. */
  async #takeDefaultClass(claim: PersistentVolumeClaim, signal: AbortSignal): Promise<boolean> {
    const chosen = namesStorageClass(claim) ? undefined : defaultStorageClass(this.#classes.list())?.metadata.name;
    if (chosen === undefined) return false;
    try {
      const spec = { ...claim.spec, storageClassName: chosen };
      await this.#client.resource(PersistentVolumeClaims).update({ ...claim, spec }, { signal });
    } catch (error) {
      this.#metrics.classAssigned(false);
      throw error;
    }
    this.#metrics.classAssigned(true);
    return true;
  }

  async #bindNamed(claim: Stored<PersistentVolumeClaim>, named: string, signal: AbortSignal): Promise<void> {
    const volume = this.#volumes.get({ name: named });
    if (volume !== undefined && (volume.spec?.claimRef === undefined || refersTo(volume, claim))) {
      const problem = mismatch(volume, claim);
      if (problem === undefined) return await this.#bind(volume, claim, signal);
      this.#recorder.event(
        claim,
        'Warning',
        'VolumeMismatch',
        `Cannot bind to requested volume "${named}": ${problem}`,
      );
    } else if (volume !== undefined) {
      this.#recorder.event(claim, 'Warning', 'FailedBinding', `volume "${named}" already bound to a different claim.`);
    }
    await this.#writeClaimStatus(claim, { ...claim.status, phase: 'Pending' }, signal);
  }

  /** Writes the volume first and the claim second: the next sync completes an interrupted binding. */
  async #bind(
    persistentVolume: Stored<PersistentVolume>,
    claim: Stored<PersistentVolumeClaim>,
    signal: AbortSignal,
  ): Promise<void> {
    let volume = persistentVolume;
    const { namespace, name, uid, resourceVersion } = claim.metadata;
    if (volume.spec?.claimRef?.uid !== uid) {
      const chosen: Record<string, string> =
        volume.spec?.claimRef === undefined ? { [BOUND_BY_CONTROLLER]: 'yes' } : {};
      const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid, resourceVersion };
      const metadata = { ...volume.metadata, annotations: { ...volume.metadata.annotations, ...chosen } };
      volume = await this.#client
        .resource(PersistentVolumes)
        .update({ ...volume, metadata, spec: { ...volume.spec, claimRef } }, { signal });
    }
    await updateVolumePhase(this.#volumeDeps, volume, { phase: 'Bound' }, signal);
    const volumeName = volume.metadata.name;
    let bound = claim;
    if (claim.spec?.volumeName !== volumeName || claim.metadata.annotations?.[BIND_COMPLETED] === undefined) {
      const chosen: Record<string, string> =
        (claim.spec?.volumeName ?? '') === '' ? { [BOUND_BY_CONTROLLER]: 'yes' } : {};
      const metadata = {
        ...claim.metadata,
        annotations: { ...claim.metadata.annotations, ...chosen, [BIND_COMPLETED]: 'yes' },
      };
      bound = await this.#client
        .resource(PersistentVolumeClaims)
        .update({ ...claim, metadata, spec: { ...claim.spec, volumeName } }, { signal });
    }
    const status = { ...bound.status, phase: 'Bound', accessModes: [...(volume.spec?.accessModes ?? [])] };
    await this.#writeClaimStatus(bound, { ...status, ...firstSeen(volume, bound) }, signal);
  }

  async #syncVolume(key: string, signal: AbortSignal): Promise<void> {
    const volume = this.#volumes.get(parseKey(key));
    if (volume === undefined) return;
    const finalizers = wantedFinalizers(volume);
    if (finalizers !== undefined) {
      // The event of this write queues the volume again.
      const metadata = { ...volume.metadata, finalizers };
      await this.#client.resource(PersistentVolumes).update({ ...volume, metadata }, { signal });
      return;
    }
    const ref = volume.spec?.claimRef;
    if (ref === undefined || (ref.uid ?? '') === '')
      return await updateVolumePhase(this.#volumeDeps, volume, { phase: 'Available' }, signal);
    const claimKey = { namespace: ref.namespace ?? '', name: ref.name ?? '' };
    // A claim that the cache lacks may have just been created.
    const claim =
      this.#claims.get(claimKey) ??
      (await this.#client.resource(PersistentVolumeClaims).get(claimKey, { signal }).catch(ignoreNotFound));
    if (claim === undefined || claim.metadata.uid !== ref.uid)
      return await reclaimVolume(this.#volumeDeps, volume, signal);
    if (claim.spec?.volumeName === volume.metadata.name)
      return await updateVolumePhase(this.#volumeDeps, volume, { phase: 'Bound' }, signal);
    if ((claim.spec?.volumeName ?? '') === '') return this.#claimLoop.queue.add(keyOfObject(claim));
    // The claim was bound to another volume, so this one is released.
    if (volume.metadata.annotations?.[BOUND_BY_CONTROLLER] === undefined)
      return await updateVolumePhase(this.#volumeDeps, volume, { phase: 'Available' }, signal);
    const { [BOUND_BY_CONTROLLER]: _, ...annotations } = volume.metadata.annotations;
    const { claimRef: __, ...spec } = volume.spec ?? {};
    const freed = await this.#client
      .resource(PersistentVolumes)
      .update({ ...volume, metadata: { ...volume.metadata, annotations }, spec }, { signal });
    await updateVolumePhase(this.#volumeDeps, freed, { phase: 'Available' }, signal);
  }

  async #writeClaimStatus(
    claim: PersistentVolumeClaim,
    status: NonNullable<PersistentVolumeClaim['status']>,
    signal: AbortSignal,
  ): Promise<void> {
    if (equalStatus(status, claim.status)) return;
    await this.#client.resource(PersistentVolumeClaims).updateStatus({ ...claim, status }, { signal });
  }

  #pending(): void {
    for (const claim of this.#claims.list())
      if (claim.status?.phase !== 'Bound') this.#claimLoop.queue.add(keyOfObject(claim));
  }

  #volumeChanged(volume: PersistentVolume): void {
    this.#volumeLoop.queue.add(keyOfObject(volume));
    const ref = volume.spec?.claimRef;
    if (ref === undefined) this.#pending();
    else this.#claimLoop.queue.add(`${ref.namespace ?? ''}/${ref.name ?? ''}`);
  }

  async start(signal: AbortSignal): Promise<void> {
    const resync = this.#clock.setTicker(RESYNC_MS, () => this.#pending());
    onAbort(signal, resync);
    const endMetrics = exposeVolumes(this.#deps.platform.metrics, this.#volumes, this.#claims);
    await Promise.all([this.#claimLoop.start(signal), this.#volumeLoop.start(signal)]).finally(endMetrics);
  }

  #addHandlers(): void {
    this.#pods.addIndex(PODS_BY_CLAIM, claimKeysOf);
    addUseIndex(this.#volumes);
    this.#claims.addHandler({
      onAdd: (claim) => this.#claimLoop.queue.add(keyOfObject(claim)),
      onUpdate: (_, claim) => this.#claimLoop.queue.add(keyOfObject(claim)),
      onDelete: (claim) => {
        if ((claim.spec?.volumeName ?? '') !== '') this.#volumeLoop.queue.add(claim.spec?.volumeName ?? '');
      },
    });
    this.#volumes.addHandler(onEveryChange((volume) => this.#volumeChanged(volume)));
    this.#classes.addHandler({ onAdd: () => this.#pending(), onUpdate: () => this.#pending() });
  }
}

/**
 * Binds claims to volumes and follows both until they part. Upstream: pkg/controller/volume/persistentvolume.
 *
 * Watches: claims, volumes, storage classes, pods. Writes alone: volumes' claimRef and phase, claims' volumeName, bind
 * annotations and phase, the default class of claims that were there before it. Every write carries the resource version it was decided on, so that no volume goes to two claims. Differs on
 * purpose: it neither provisions, deletes nor recycles storage itself; claims are handed to external provisioners, and volumes
 * to be deleted without one are marked Failed, as upstream does without a plugin.
 */
import { onAbort } from '../../base/abort.ts';
import { PersistentVolumeClaims, PersistentVolumes, Pods, StorageClasses } from '../../api/gen/resources.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/gen/core-v1.ts';
import type { StorageClass } from '../../api/gen/storage-v1.ts';
import { formatTime } from '../../api/time.ts';
import type { Stored } from '../../api/object.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { defaultStorageClass, namesStorageClass } from '../../component-helpers/default-storage-class.ts';
import { claimKeysOf, PODS_BY_CLAIM } from '../../component-helpers/pod-claims.ts';
import { isPodTerminal } from '../../component-helpers/pods.ts';
import { equalStatus } from '../../component-helpers/wire-equality.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';
import { wantedFinalizers } from './deletion-finalizers.ts';
import { createBinderMetrics, exposeVolumes } from './metrics.ts';
import { BIND_COMPLETED, BOUND_BY_CONTROLLER, classOf, findVolume, firstSeen, mismatch, refersTo } from './matching.ts';

const ACCOUNT = 'persistent-volume-binder';
const NAME = 'persistentvolume-binder-controller';
const RECORDER = 'persistentvolume-controller';
const RESYNC_MS = 15_000;
const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
const NO_PROVISIONER = 'kubernetes.io/no-provisioner';
const PROVISIONERS = ['volume.kubernetes.io/storage-provisioner', 'volume.beta.kubernetes.io/storage-provisioner'];
const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';

export function createPersistentVolumeBinder(deps: ControllerDeps): Controller {
  const { clock } = deps.platform;
  const client = deps.clientFor(ACCOUNT);
  const recorder = deps.recorderFor(RECORDER);
  const claims = deps.informers.informer(PersistentVolumeClaims);
  const volumes = deps.informers.informer(PersistentVolumes);
  const classes = deps.informers.informer(StorageClasses);
  const pods = deps.informers.informer(Pods);
  pods.addIndex(PODS_BY_CLAIM, claimKeysOf);
  const told = createBinderMetrics(deps.platform.metrics);
  const informers = informerList(claims, volumes, classes, pods);
  const claimLoop = createKeyedLoop(deps, { name: NAME, queueName: 'claims', workers: 1, informers, sync: syncClaim });
  const volumeLoop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'volumes',
    workers: 1,
    informers,
    sync: syncVolume,
  });

  async function syncClaim(key: string, signal: AbortSignal): Promise<void> {
    const claim = claims.get(parseKey(key));
    if (claim === undefined) return;
    const bound = claim.metadata.annotations?.[BIND_COMPLETED] !== undefined;
    const named = claim.spec?.volumeName ?? '';
    if (bound) await followBound(claim, named, signal);
    else if (named === '') await bindAny(claim, signal);
    else await bindNamed(claim, named, signal);
  }

  async function followBound(claim: Stored<PersistentVolumeClaim>, named: string, signal: AbortSignal): Promise<void> {
    const volume = named === '' ? undefined : volumes.get({ name: named });
    if (volume === undefined) {
      const lost = named === '' ? 'reference to PersistentVolume' : 'its PersistentVolume';
      return await lose(claim, {
        reason: 'ClaimLost',
        message: `Bound claim has lost ${lost}. Data on the volume is lost!`,
        signal,
      });
    }
    if (volume.spec?.claimRef === undefined || refersTo(volume, claim)) return await bind(volume, claim, signal);
    await lose(claim, {
      reason: 'ClaimMisbound',
      message: 'Two claims are bound to the same volume, this one is bound incorrectly',
      signal,
    });
  }

  async function lose(
    claim: PersistentVolumeClaim,
    why: { readonly reason: string; readonly message: string; readonly signal: AbortSignal },
  ): Promise<void> {
    if (claim.status?.phase === 'Lost') return;
    recorder.event(claim, 'Warning', why.reason, why.message);
    await writeClaimStatus(claim, { phase: 'Lost' }, why.signal);
  }

  async function bindAny(claim: Stored<PersistentVolumeClaim>, signal: AbortSignal): Promise<void> {
    const storageClass = classes.get({ name: classOf(claim) });
    const delayed =
      storageClass?.volumeBindingMode === 'WaitForFirstConsumer' &&
      claim.metadata.annotations?.[SELECTED_NODE] === undefined;
    const volume = findVolume(claim, volumes.list(), delayed);
    if (volume !== undefined) return await bind(volume, claim, signal);
    if (await takeDefaultClass(claim, signal)) return;
    await writeClaimStatus(claim, { ...claim.status, phase: 'Pending' }, signal);
    if (delayed) sayWhatItWaitsFor(claim);
    else await askForVolume(claim, storageClass, signal);
  }

  /** A claim from before there was a default class gets it: whether it is of that class now; its event takes it further. */
  async function takeDefaultClass(claim: PersistentVolumeClaim, signal: AbortSignal): Promise<boolean> {
    const chosen = namesStorageClass(claim) ? undefined : defaultStorageClass(classes.list())?.metadata.name;
    if (chosen === undefined) return false;
    try {
      const spec = { ...claim.spec, storageClassName: chosen };
      await client.resource(PersistentVolumeClaims).update({ ...claim, spec }, { signal });
    } catch (error) {
      told.classGiven(false);
      throw error;
    }
    told.classGiven(true);
    return true;
  }

  function sayWhatItWaitsFor(claim: PersistentVolumeClaim): void {
    const waiting = pods
      .byIndex(PODS_BY_CLAIM, keyOfObject(claim))
      .filter((pod) => (pod.spec?.nodeName ?? '') === '' && !isPodTerminal(pod))
      .map(({ metadata }) => metadata.name);
    const [reason, message] =
      waiting.length === 0
        ? ['WaitForFirstConsumer', 'waiting for first consumer to be created before binding']
        : [
            'WaitForPodScheduled',
            `waiting for pod${waiting.length > 1 ? 's' : ''} ${waiting.join(',')} to be scheduled`,
          ];
    recorder.event(claim, 'Normal', reason, message);
  }

  async function askForVolume(
    claim: PersistentVolumeClaim,
    storageClass: StorageClass | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const name = classOf(claim);
    if (name === '')
      return recorder.event(
        claim,
        'Normal',
        'FailedBinding',
        'no persistent volumes available for this claim and no storage class is set',
      );
    if (storageClass === undefined)
      return recorder.event(claim, 'Warning', 'ProvisioningFailed', `storageclass.storage.k8s.io "${name}" not found`);
    const { provisioner } = storageClass;
    if (provisioner === NO_PROVISIONER)
      return recorder.event(
        claim,
        'Normal',
        'FailedBinding',
        'no persistent volumes available for this claim and no storage class is set',
      );
    if (PROVISIONERS.some((annotation) => claim.metadata.annotations?.[annotation] !== provisioner)) {
      const annotations = {
        ...claim.metadata.annotations,
        ...Object.fromEntries(PROVISIONERS.map((annotation) => [annotation, provisioner])),
      };
      await client
        .resource(PersistentVolumeClaims)
        .patch(parseKey(keyOfObject(claim)), { type: 'merge', patch: { metadata: { annotations } } }, { signal });
    }
    const advice =
      'If volume creation is delayed, please verify that the provisioner is running and correctly registered.';
    recorder.event(
      claim,
      'Normal',
      'ExternalProvisioning',
      `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. ${advice}`,
    );
  }

  async function bindNamed(claim: Stored<PersistentVolumeClaim>, named: string, signal: AbortSignal): Promise<void> {
    const volume = volumes.get({ name: named });
    if (volume !== undefined && (volume.spec?.claimRef === undefined || refersTo(volume, claim))) {
      const problem = mismatch(volume, claim);
      if (problem === undefined) return await bind(volume, claim, signal);
      recorder.event(claim, 'Warning', 'VolumeMismatch', `Cannot bind to requested volume "${named}": ${problem}`);
    } else if (volume !== undefined) {
      recorder.event(claim, 'Warning', 'FailedBinding', `volume "${named}" already bound to a different claim.`);
    }
    await writeClaimStatus(claim, { ...claim.status, phase: 'Pending' }, signal);
  }

  /** Volume first, claim second: whatever is interrupted in between is taken up by the next sync. */
  async function bind(
    found: Stored<PersistentVolume>,
    claim: Stored<PersistentVolumeClaim>,
    signal: AbortSignal,
  ): Promise<void> {
    let volume = found;
    const { namespace, name, uid, resourceVersion } = claim.metadata;
    if (volume.spec?.claimRef?.uid !== uid) {
      const chosen: Record<string, string> =
        volume.spec?.claimRef === undefined ? { [BOUND_BY_CONTROLLER]: 'yes' } : {};
      const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid, resourceVersion };
      const metadata = { ...volume.metadata, annotations: { ...volume.metadata.annotations, ...chosen } };
      volume = await client
        .resource(PersistentVolumes)
        .update({ ...volume, metadata, spec: { ...volume.spec, claimRef } }, { signal });
    }
    await setPhase(volume, { phase: 'Bound' }, signal);
    const volumeName = volume.metadata.name;
    let bound = claim;
    if (claim.spec?.volumeName !== volumeName || claim.metadata.annotations?.[BIND_COMPLETED] === undefined) {
      const chosen: Record<string, string> =
        (claim.spec?.volumeName ?? '') === '' ? { [BOUND_BY_CONTROLLER]: 'yes' } : {};
      const metadata = {
        ...claim.metadata,
        annotations: { ...claim.metadata.annotations, ...chosen, [BIND_COMPLETED]: 'yes' },
      };
      bound = await client
        .resource(PersistentVolumeClaims)
        .update({ ...claim, metadata, spec: { ...claim.spec, volumeName } }, { signal });
    }
    const status = { ...bound.status, phase: 'Bound', accessModes: [...(volume.spec?.accessModes ?? [])] };
    await writeClaimStatus(bound, { ...status, ...firstSeen(volume, bound) }, signal);
  }

  async function syncVolume(key: string, signal: AbortSignal): Promise<void> {
    const volume = volumes.get(parseKey(key));
    if (volume === undefined) return;
    const finalizers = wantedFinalizers(volume);
    if (finalizers !== undefined) {
      // The event of the write brings the volume back.
      const metadata = { ...volume.metadata, finalizers };
      await client.resource(PersistentVolumes).update({ ...volume, metadata }, { signal });
      return;
    }
    const ref = volume.spec?.claimRef;
    if (ref === undefined || (ref.uid ?? '') === '') return await setPhase(volume, { phase: 'Available' }, signal);
    const claimKey = { namespace: ref.namespace ?? '', name: ref.name ?? '' };
    // A claim the cache does not know may have been made a moment ago.
    const claim =
      claims.get(claimKey) ??
      (await client.resource(PersistentVolumeClaims).get(claimKey, { signal }).catch(ignoreNotFound));
    if (claim === undefined || claim.metadata.uid !== ref.uid) return await release(volume, signal);
    if (claim.spec?.volumeName === volume.metadata.name) return await setPhase(volume, { phase: 'Bound' }, signal);
    if ((claim.spec?.volumeName ?? '') === '') return claimLoop.queue.add(keyOfObject(claim));
    // The claim went to another volume: this one was given to it in vain.
    if (volume.metadata.annotations?.[BOUND_BY_CONTROLLER] === undefined)
      return await setPhase(volume, { phase: 'Available' }, signal);
    const { [BOUND_BY_CONTROLLER]: _, ...annotations } = volume.metadata.annotations;
    const { claimRef: __, ...spec } = volume.spec ?? {};
    const freed = await client
      .resource(PersistentVolumes)
      .update({ ...volume, metadata: { ...volume.metadata, annotations }, spec }, { signal });
    await setPhase(freed, { phase: 'Available' }, signal);
  }

  async function release(volume: Stored<PersistentVolume>, signal: AbortSignal): Promise<void> {
    const policy = volume.spec?.persistentVolumeReclaimPolicy ?? 'Retain';
    const external = volume.spec?.csi !== undefined || volume.metadata.annotations?.[PROVISIONED_BY] !== undefined;
    if (volume.status?.phase === 'Failed') return;
    if (policy === 'Retain' || (policy === 'Delete' && external))
      return await setPhase(volume, { phase: 'Released' }, signal);
    const name = volume.metadata.name;
    const message =
      policy === 'Recycle'
        ? 'no volume plugin matched'
        : `error getting deleter volume plugin for volume "${name}": no volume plugin matched`;
    recorder.event(volume, 'Warning', policy === 'Recycle' ? 'VolumeFailedRecycle' : 'VolumeFailedDelete', message);
    await setPhase(volume, { phase: 'Failed', message }, signal);
  }

  async function setPhase(
    volume: PersistentVolume,
    next: { readonly phase: string; readonly message?: string },
    signal: AbortSignal,
  ): Promise<void> {
    const { phase, message = '' } = volume.status ?? {};
    if (phase === next.phase && message === (next.message ?? '')) return;
    const status = { ...next, ...(phase === next.phase ? {} : { lastPhaseTransitionTime: formatTime(clock.nowMs()) }) };
    await client.resource(PersistentVolumes).updateStatus({ ...volume, status }, { signal });
  }

  async function writeClaimStatus(
    claim: PersistentVolumeClaim,
    status: NonNullable<PersistentVolumeClaim['status']>,
    signal: AbortSignal,
  ): Promise<void> {
    if (equalStatus(status, claim.status)) return;
    await client.resource(PersistentVolumeClaims).updateStatus({ ...claim, status }, { signal });
  }

  const pending = (): void => {
    for (const claim of claims.list()) if (claim.status?.phase !== 'Bound') claimLoop.queue.add(keyOfObject(claim));
  };
  claims.addHandler({
    onAdd: (claim) => claimLoop.queue.add(keyOfObject(claim)),
    onUpdate: (_, claim) => claimLoop.queue.add(keyOfObject(claim)),
    onDelete: (claim) => {
      if ((claim.spec?.volumeName ?? '') !== '') volumeLoop.queue.add(claim.spec?.volumeName ?? '');
    },
  });
  const volumeChanged = (volume: PersistentVolume): void => {
    volumeLoop.queue.add(keyOfObject(volume));
    const ref = volume.spec?.claimRef;
    if (ref === undefined) pending();
    else claimLoop.queue.add(`${ref.namespace ?? ''}/${ref.name ?? ''}`);
  };
  volumes.addHandler({ onAdd: volumeChanged, onUpdate: (_, volume) => volumeChanged(volume), onDelete: volumeChanged });
  classes.addHandler({ onAdd: pending, onUpdate: pending });
  return {
    name: NAME,
    async start(signal) {
      const resync = clock.setTicker(RESYNC_MS, pending);
      onAbort(signal, resync);
      const endMetrics = exposeVolumes(deps.platform.metrics, volumes, claims);
      await Promise.all([claimLoop.start(signal), volumeLoop.start(signal)]).finally(endMetrics);
    },
  };
}

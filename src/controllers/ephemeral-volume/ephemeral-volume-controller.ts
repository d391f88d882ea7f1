/**
 * Creates the claims of pods' ephemeral volumes. Upstream: pkg/controller/volume/ephemeral.
 *
 * Watches: pods, claims. Writes alone: claims named `<pod>-<volume>`, owned by their pod and so deleted with it.
 */
import { PersistentVolumeClaims, Pods } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import type { PersistentVolumeClaim, Pod, Volume } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { errorMessage } from '../../base/errors.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';
import { isPodTerminal } from '../../component-helpers/pods.ts';
import {
  createKeyedLoop,
  informerList,
  isNamespaceTerminating,
  type Controller,
  type ControllerDeps,
} from '../controller.ts';

const ACCOUNT = 'ephemeral-volume-controller';
const NAME = 'ephemeral-volume-controller';
const PODS_BY_CLAIM = 'ephemeral-claim';

export function createEphemeralVolumeController(deps: ControllerDeps): Controller {
  const client = deps.clientFor(ACCOUNT).resource(PersistentVolumeClaims);
  const recorder = deps.recorderFor('ephemeral_volume');
  const { metrics } = deps.platform;
  const attempts = metrics.counter({
    name: 'ephemeral_volume_controller_create_total',
    help: 'PersistentVolumeClaim creation requests.',
  });
  const failures = metrics.counter({
    name: 'ephemeral_volume_controller_create_failures_total',
    help: 'PersistentVolumeClaim creation requests that failed.',
  });
  const pods = deps.informers.informer(Pods);
  const claims = deps.informers.informer(PersistentVolumeClaims);
  pods.addIndex(PODS_BY_CLAIM, (pod) =>
    ephemeralVolumes(pod).map((volume) => `${pod.metadata.namespace}/${claimName(pod, volume)}`),
  );
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'ephemeral_volume',
    workers: 10,
    informers: informerList(pods, claims),
    sync: syncPod,
  });

  async function syncPod(key: string, signal: AbortSignal): Promise<void> {
    const pod = pods.get(parseKey(key));
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || isPodTerminal(pod)) return;
    for (const volume of ephemeralVolumes(pod)) {
      try {
        await ensureClaim(pod, volume, signal);
      } catch (error) {
        signal.throwIfAborted();
        const text = errorMessage(error);
        recorder.event(pod, 'Warning', 'FailedBinding', `ephemeral volume ${volume.name}: ${text}`);
        throw error;
      }
    }
  }

  async function ensureClaim(pod: Stored<Pod>, volume: Volume, signal: AbortSignal): Promise<void> {
    const { namespace, name: podName } = pod.metadata;
    const name = claimName(pod, volume);
    const persistentVolumeClaim = claims.get({ namespace, name });
    if (persistentVolumeClaim !== undefined) {
      if (controllerOf(persistentVolumeClaim)?.uid === pod.metadata.uid) return;
      throw new Error(`PVC ${namespace}/${name} was not created for pod ${namespace}/${podName} (pod is not owner)`);
    }
    attempts.inc();
    try {
      await client.create(claimOf(pod, volume), { signal });
    } catch (error) {
      failures.inc();
      // An earlier sync created it and the cache does not show it yet: its event enqueues the pod again.
      if (!isReason(error, 'AlreadyExists') && !isNamespaceTerminating(error)) throw error;
    }
  }

  const enqueue = (pod: Pod): void => {
    if (ephemeralVolumes(pod).length > 0) loop.queue.add(keyOfObject(pod));
  };
  pods.addHandler({ onAdd: enqueue, onUpdate: (_, pod) => enqueue(pod) });
  const claimChanged = (claim: PersistentVolumeClaim): void =>
    pods.byIndex(PODS_BY_CLAIM, keyOfObject(claim)).forEach(enqueue);
  claims.addHandler({ onAdd: claimChanged, onDelete: claimChanged });
  return loop;
}

function ephemeralVolumes(pod: Pod): readonly Volume[] {
  return (pod.spec?.volumes ?? []).filter((volume) => volume.ephemeral?.volumeClaimTemplate !== undefined);
}

function claimName(pod: Stored<Pod>, volume: Volume): string {
  return `${pod.metadata.name}-${volume.name}`;
}

function claimOf(pod: Stored<Pod>, volume: Volume): PersistentVolumeClaim {
  const template = volume.ephemeral?.volumeClaimTemplate;
  const { namespace, name, uid } = pod.metadata;
  const owner = { apiVersion: 'v1', kind: 'Pod', name, uid, controller: true, blockOwnerDeletion: true };
  const { labels, annotations } = template?.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      namespace,
      name: claimName(pod, volume),
      ownerReferences: [owner],
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
    },
    spec: { ...template?.spec },
  };
}

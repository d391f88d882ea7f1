/**
 * Keeps bound volumes from being deleted, by a finalizer. Upstream: pkg/controller/volume/pvprotection.
 *
 * Watches: volumes. Writes alone: the `kubernetes.io/pv-protection` finalizer.
 */
import { PersistentVolumes } from '../../api/gen/resources.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import type { PersistentVolume } from '../../api/gen/core-v1.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';

const ACCOUNT = 'pv-protection-controller';
const NAME = 'persistentvolume-protection-controller';
const FINALIZER = 'kubernetes.io/pv-protection';

export function createPvProtectionController(deps: ControllerDeps): Controller {
  const client = deps.clientFor(ACCOUNT).resource(PersistentVolumes);
  const volumes = deps.informers.informer(PersistentVolumes);
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'pvprotection',
    workers: 1,
    informers: informerList(volumes),
    sync: processVolume,
  });

  async function processVolume(key: string, signal: AbortSignal): Promise<void> {
    const volume = volumes.get(parseKey(key));
    if (volume === undefined) return;
    const finalizers = volume.metadata.finalizers ?? [];
    const held = finalizers.includes(FINALIZER);
    const going = volume.metadata.deletionTimestamp !== undefined;
    if (going === !held || (going && volume.status?.phase === 'Bound')) return;
    const next = going ? finalizers.filter((finalizer) => finalizer !== FINALIZER) : [...finalizers, FINALIZER];
    await client
      .update({ ...volume, metadata: { ...volume.metadata, finalizers: next } }, { signal })
      .catch(ignoreNotFound);
  }

  const enqueue = (volume: PersistentVolume): void => loop.queue.add(keyOfObject(volume));
  volumes.addHandler({ onAdd: enqueue, onUpdate: (_, volume) => enqueue(volume) });
  return loop;
}

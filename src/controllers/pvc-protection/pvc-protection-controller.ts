/**
 * Keeps claims in use by pods from being deleted, by a finalizer. Upstream: pkg/controller/volume/pvcprotection.
 *
 * Watches: claims and pods. Writes alone: the `kubernetes.io/pvc-protection` finalizer. Pods without a node do not
 * count: their node would refuse to start them with a terminating claim.
 */
import { PersistentVolumeClaims, Pods } from '../../api/gen/resources.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import type { PersistentVolumeClaim, Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { claimKeysOf, PODS_BY_CLAIM } from '../../component-helpers/pod-claims.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';

const ACCOUNT = 'pvc-protection-controller';
const NAME = 'persistentvolumeclaim-protection-controller';
const FINALIZER = 'kubernetes.io/pvc-protection';

export function createPvcProtectionController(deps: ControllerDeps): Controller {
  const client = deps.clientFor(ACCOUNT);
  const claims = deps.informers.informer(PersistentVolumeClaims);
  const pods = deps.informers.informer(Pods);
  pods.addIndex(PODS_BY_CLAIM, claimKeysOf);
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'pvcprotection',
    workers: 1,
    informers: informerList(claims, pods),
    sync: processClaim,
  });

  async function processClaim(key: string, signal: AbortSignal): Promise<void> {
    const claim = claims.get(parseKey(key));
    if (claim === undefined) return;
    const finalizers = claim.metadata.finalizers ?? [];
    const held = finalizers.includes(FINALIZER);
    if (claim.metadata.deletionTimestamp === undefined) {
      if (!held) await write(claim, [...finalizers, FINALIZER], signal);
    } else if (held && !(await isUsed(key, claim, signal))) {
      await write(
        claim,
        finalizers.filter((finalizer) => finalizer !== FINALIZER),
        signal,
      );
    }
  }

  /** Reads the cache first, then the server: a claim released too early loses data. */
  async function isUsed(key: string, claim: Stored<PersistentVolumeClaim>, signal: AbortSignal): Promise<boolean> {
    const uses = (pod: Stored<Pod>): boolean => (pod.spec?.nodeName ?? '') !== '' && claimKeysOf(pod).includes(key);
    if (pods.byIndex(PODS_BY_CLAIM, key).some(uses)) return true;
    const live = await client.resource(Pods).list({ namespace: claim.metadata.namespace, signal });
    return live.items.some(uses);
  }

  async function write(claim: PersistentVolumeClaim, finalizers: string[], signal: AbortSignal): Promise<void> {
    await client
      .resource(PersistentVolumeClaims)
      .update({ ...claim, metadata: { ...claim.metadata, finalizers } }, { signal })
      .catch(ignoreNotFound);
  }

  const enqueue = (claim: PersistentVolumeClaim): void => {
    const held = (claim.metadata.finalizers ?? []).includes(FINALIZER);
    if (held === (claim.metadata.deletionTimestamp !== undefined)) loop.queue.add(keyOfObject(claim));
  };
  claims.addHandler({ onAdd: enqueue, onUpdate: (_, claim) => enqueue(claim) });
  const enqueueClaims = (pod: Stored<Pod>): void => claimKeysOf(pod).forEach((key) => loop.queue.add(key));
  pods.addHandler({ onDelete: enqueueClaims });
  return loop;
}

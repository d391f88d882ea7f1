/**
 * Evicts pods whose devices got a NoExecute taint in their slice that the pods' claims do not tolerate, at once or after
 * their tolerationSeconds. Upstream: pkg/controller/devicetainteviction. Not here: DeviceTaintRules.
 *
 * Watches: claims, slices, pods. Deletes pods. A claim's clock starts when the taint was added: the API server says when.
 * Slices from before it did are counted from when they are first seen.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type {
  DeviceRequestAllocationResult,
  DeviceTaint,
  ResourceClaim,
  ResourceSlice,
} from '../../api/gen/resource-v1.ts';
import { Pods, ResourceClaims, ResourceSlices } from '../../api/gen/resources.ts';
import { parseTime } from '../../api/time.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { isPodTerminal } from '../../component-helpers/pods.ts';
import { toleratesDeviceTaint } from '../../component-helpers/resource-claims.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';
import { evictPod } from '../pod-eviction.ts';

const NAME = 'device-taint-eviction-controller';
const CLAIMS_BY_POOL = 'device-pool';
const SLICES_BY_POOL = 'slice-pool';
const NEVER = Number.POSITIVE_INFINITY;
const EVENT = 'DeviceTaintManagerEviction';
const WORDS = {
  event: EVENT,
  reason: 'DeletionByDeviceTaintManager',
  message: 'Device Taint manager: deleting due to NoExecute taint',
};

const poolKey = (driver: string, pool: string): string => `${driver}/${pool}`;
const poolOf = ({ spec }: ResourceSlice): string => poolKey(spec.driver, spec.pool.name);

/** NoExecute taints of an allocated device, by the newest generation of its pool. */
export function deviceTaints(slices: readonly ResourceSlice[], device: string): readonly DeviceTaint[] {
  const newest = Math.max(...slices.map(({ spec }) => spec.pool.generation));
  return slices
    .filter(({ spec }) => spec.pool.generation === newest)
    .flatMap(({ spec }) => spec.devices ?? [])
    .filter(({ name }) => name === device)
    .flatMap(({ taints = [] }) => taints.filter(({ effect }) => effect === 'NoExecute'));
}

/** Milliseconds an allocation bears a taint: 0 none, Infinity for ever. */
export function deviceToleratedMs({ tolerations = [] }: DeviceRequestAllocationResult, taint: DeviceTaint): number {
  const bearing = tolerations.filter((toleration) => toleratesDeviceTaint(toleration, taint));
  if (bearing.length === 0) return 0;
  const limits = bearing.map(({ tolerationSeconds }) => tolerationSeconds).filter((seconds) => seconds !== undefined);
  return limits.length === 0 ? NEVER : Math.max(0, Math.min(...limits)) * 1000;
}

/** Makes the controller. */
export function createDeviceTaintEvictionController(deps: ControllerDeps): Controller {
  const { clock } = deps.platform;
  const client = deps.clientFor(NAME).resource(Pods);
  const recorder = deps.recorderFor(NAME);
  const claims = deps.informers.informer(ResourceClaims);
  const slices = deps.informers.informer(ResourceSlices);
  const pods = deps.informers.informer(Pods);
  claims.addIndex(CLAIMS_BY_POOL, ({ status }) => [
    ...new Set((status?.allocation?.devices?.results ?? []).map(({ driver, pool }) => poolKey(driver, pool))),
  ]);
  slices.addIndex(SLICES_BY_POOL, (slice) => [poolOf(slice)]);
  /** Taints that were stored without a time, by claim, device and taint: when they were first seen. */
  const seenMs = new Map<string, number>();
  /** Claims whose pods' time runs. */
  const running = new Set<string>();
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'device_taint_eviction',
    workers: 8,
    informers: informerList(claims, slices, pods),
    sync,
  });

  async function sync(key: string, signal: AbortSignal): Promise<void> {
    const claim = claims.get(parseKey(key));
    const dueMs = claim === undefined ? NEVER : evictionMs(key, claim);
    if (claim === undefined || dueMs === NEVER) return cancel(key, claim);
    const leftMs = dueMs - clock.nowMs();
    if (leftMs > 0) {
      running.add(key);
      return loop.queue.addAfter(key, leftMs);
    }
    running.delete(key);
    for (const pod of podsOf(claim)) await evictPod({ pods: client, recorder, clock }, pod, { words: WORDS, signal });
  }

  /** When the claim's pods must go, by the wall clock. */
  function evictionMs(key: string, { metadata, status }: ResourceClaim): number {
    let dueMs = NEVER;
    const current = new Set<string>();
    for (const result of status?.allocation?.devices?.results ?? []) {
      const ofPool = slices.byIndex(SLICES_BY_POOL, poolKey(result.driver, result.pool));
      for (const taint of ofPool.length === 0 ? [] : deviceTaints(ofPool, result.device)) {
        const { driver, pool, device } = result;
        let beganMs = parseTime(taint.timeAdded ?? undefined);
        if (Number.isNaN(beganMs)) {
          const seenKey = [key, metadata.uid, driver, pool, device, taint.key, taint.value ?? ''].join('|');
          current.add(seenKey);
          beganMs = seenMs.get(seenKey) ?? clock.nowMs();
          seenMs.set(seenKey, beganMs);
        }
        dueMs = Math.min(dueMs, beganMs + deviceToleratedMs(result, taint));
      }
    }
    for (const known of seenMs.keys()) if (known.startsWith(`${key}|`) && !current.has(known)) seenMs.delete(known);
    return dueMs;
  }

  /** Pods that use the claim and still run. */
  function podsOf({ metadata, status }: ResourceClaim): Pod[] {
    return (status?.reservedFor ?? []).flatMap(({ resource, apiGroup = '', name, uid }) => {
      if (resource !== 'pods' || apiGroup !== '') return [];
      const pod = pods.get({ namespace: metadata.namespace ?? '', name });
      const runs = pod?.metadata.uid === uid && pod?.metadata.deletionTimestamp === undefined;
      return pod !== undefined && runs && !isPodTerminal(pod) ? [pod] : [];
    });
  }

  function cancel(key: string, claim: ResourceClaim | undefined): void {
    for (const known of claim === undefined ? seenMs.keys() : []) if (known.startsWith(`${key}|`)) seenMs.delete(known);
    if (!running.delete(key) || claim === undefined) return;
    for (const pod of podsOf(claim))
      recorder.event(pod, 'Normal', EVENT, `Cancelling deletion of Pod ${keyOfObject(pod)}`);
  }

  const enqueuePool = (slice: ResourceSlice): void => {
    for (const claim of claims.byIndex(CLAIMS_BY_POOL, poolOf(slice))) loop.queue.add(keyOfObject(claim));
  };
  const enqueue = (claim: ResourceClaim): void => void loop.queue.add(keyOfObject(claim));
  claims.addHandler({ onAdd: enqueue, onUpdate: (_, claim) => enqueue(claim), onDelete: enqueue });
  slices.addHandler({ onAdd: enqueuePool, onUpdate: (_, slice) => enqueuePool(slice), onDelete: enqueuePool });
  return loop;
}

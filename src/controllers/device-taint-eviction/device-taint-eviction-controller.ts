/**
 * Evicts pods whose devices got a NoExecute taint, in their slice or by a DeviceTaintRule, that the pods' claims do not
 * tolerate, at once or after their tolerationSeconds. Upstream: pkg/controller/devicetainteviction.
 *
 * Watches: claims, slices, pods, and taint rules where they are served. Deletes pods; writes alone rules' condition
 * (`rule-status.ts`). A claim's clock starts when the taint was added: the API server says when. Slices from before it did
 * are counted from when they are first seen.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type {
  DeviceRequestAllocationResult,
  DeviceTaint,
  ResourceClaim,
  ResourceSlice,
} from '../../api/gen/resource-v1.ts';
import type { DeviceTaintRule } from '../../api/gen/resource-v1beta2.ts';
import { DeviceTaintRules, Pods, ResourceClaims, ResourceSlices } from '../../api/gen/resources.ts';
import { parseTime } from '../../api/time.ts';
import type { Stored } from '../../api/object.ts';
import { deepEqual } from '../../base/equal.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { createOptionalInformer } from '../../client/optional-informer.ts';
import { ruleSelects } from '../../component-helpers/device-taint-rules.ts';
import { isPodTerminal } from '../../component-helpers/pods.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';
import { createEvictionMetrics, evictPod } from '../pod-eviction.ts';
import { deviceToleratedMs } from './device-tolerations.ts';
import { createRuleStatusLoop } from './rule-status.ts';

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

/** A taint of an allocated device, with the rule it comes from, if from one. */
interface Origin {
  readonly taint: DeviceTaint;
  readonly rule?: DeviceTaintRule;
}

const poolKey = (driver: string, pool: string): string => `${driver}/${pool}`;
const poolOf = ({ spec }: ResourceSlice): string => poolKey(spec.driver, spec.pool.name);

/** NoExecute taints of an allocated device, by the newest generation of its pool. */
export function deviceTaints(slices: readonly ResourceSlice[], device: string): readonly DeviceTaint[] {
  const generations = slices.map(({ spec }) => spec.pool.generation);
  const newest = generations.reduce((most, generation) => (generation > most ? generation : most), -1);
  return slices
    .filter(({ spec }) => spec.pool.generation === newest)
    .flatMap(({ spec }) => spec.devices ?? [])
    .filter(({ name }) => name === device)
    .flatMap(({ taints = [] }) => taints.filter(({ effect }) => effect === 'NoExecute'));
}

/** Whether the claim has a device that one of the rules selects. */
function isSelected({ status }: ResourceClaim, rules: readonly DeviceTaintRule[]): boolean {
  const results = status?.allocation?.devices?.results ?? [];
  return results.some((result) => rules.some((rule) => ruleSelects(rule, result)));
}

export function createDeviceTaintEvictionController(deps: ControllerDeps): Controller {
  const { clock, log } = deps.platform;
  const own = deps.clientFor(NAME);
  const client = own.resource(Pods);
  const recorder = deps.recorderFor(NAME);
  const claims = deps.informers.informer(ResourceClaims);
  const slices = deps.informers.informer(ResourceSlices);
  const pods = deps.informers.informer(Pods);
  const { informers } = deps;
  const rules = createOptionalInformer({ client: own, informers, clock, log: log.child(NAME) }, DeviceTaintRules);
  const metrics = createEvictionMetrics(deps.platform.metrics, 'device_taint_eviction_controller');
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
    workers: 8,
    informers: informerList(claims, slices, pods),
    sync,
  });
  const statuses = createRuleStatusLoop(deps, { rules, client: own, claims, slices, pods, podsOf });

  async function sync(key: string, signal: AbortSignal): Promise<void> {
    const claim = claims.get(parseKey(key));
    const { dueMs, origins } = claim === undefined ? { dueMs: NEVER, origins: [] } : evictionOf(key, claim);
    if (claim === undefined || dueMs === NEVER) return cancel(key, claim);
    const leftMs = dueMs - clock.nowMs();
    if (leftMs > 0) {
      running.add(key);
      return loop.queue.addAfter(key, leftMs);
    }
    running.delete(key);
    for (const pod of podsOf(claim)) {
      if (!(await evictPod({ pods: client, recorder, clock }, pod, { words: WORDS, signal }))) continue;
      metrics.deleted((clock.nowMs() - dueMs) / 1000);
      for (const { rule } of origins) if (rule !== undefined) statuses.evicted(rule);
    }
  }

  /** When the claim's pods must go, by the wall clock, and because of what. */
  function evictionOf(
    key: string,
    { metadata, status }: ResourceClaim,
  ): { readonly dueMs: number; readonly origins: readonly Origin[] } {
    let dueMs = NEVER;
    const origins: Origin[] = [];
    const current = new Set<string>();
    for (const result of status?.allocation?.devices?.results ?? []) {
      const { driver, pool, device } = result;
      for (const origin of taintsOf(result)) {
        const { taint } = origin;
        let beganMs = parseTime(taint.timeAdded ?? undefined);
        if (Number.isNaN(beganMs)) {
          const seenKey = [key, metadata.uid, driver, pool, device, taint.key, taint.value ?? ''].join('|');
          current.add(seenKey);
          beganMs = seenMs.get(seenKey) ?? clock.nowMs();
          seenMs.set(seenKey, beganMs);
        }
        const toleratedMs = deviceToleratedMs(result, taint);
        if (toleratedMs !== NEVER) origins.push(origin);
        dueMs = Math.min(dueMs, beganMs + toleratedMs);
      }
    }
    for (const known of seenMs.keys()) if (known.startsWith(`${key}|`) && !current.has(known)) seenMs.delete(known);
    return { dueMs, origins };
  }

  function taintsOf(result: DeviceRequestAllocationResult): Origin[] {
    const ofPool = slices.byIndex(SLICES_BY_POOL, poolKey(result.driver, result.pool));
    const ofSlices = ofPool.length === 0 ? [] : deviceTaints(ofPool, result.device);
    const evicting = rules
      .list()
      .filter((rule) => rule.spec.taint.effect === 'NoExecute' && ruleSelects(rule, result))
      .map((rule): Origin => ({ taint: rule.spec.taint, rule }));
    return [...ofSlices.map((taint): Origin => ({ taint })), ...evicting];
  }

  /** Pods that use the claim and still run. */
  function podsOf({ metadata, status }: Stored<ResourceClaim>): Stored<Pod>[] {
    return (status?.reservedFor ?? []).flatMap(({ resource, apiGroup = '', name, uid }) => {
      if (resource !== 'pods' || apiGroup !== '') return [];
      const pod = pods.get({ namespace: metadata.namespace, name });
      const runs = pod?.metadata.uid === uid && pod?.metadata.deletionTimestamp === undefined;
      return pod !== undefined && runs && !isPodTerminal(pod) ? [pod] : [];
    });
  }

  function cancel(key: string, claim: Stored<ResourceClaim> | undefined): void {
    for (const known of claim === undefined ? seenMs.keys() : []) if (known.startsWith(`${key}|`)) seenMs.delete(known);
    if (!running.delete(key) || claim === undefined) return;
    for (const pod of podsOf(claim))
      recorder.event(pod, 'Normal', EVENT, `Cancelling deletion of Pod ${keyOfObject(pod)}`);
  }

  const enqueuePool = (slice: ResourceSlice): void => {
    for (const claim of claims.byIndex(CLAIMS_BY_POOL, poolOf(slice))) loop.queue.add(keyOfObject(claim));
  };
  const enqueue = (claim: ResourceClaim): void => {
    loop.queue.add(keyOfObject(claim));
  };
  claims.addHandler({ onAdd: enqueue, onUpdate: (_, claim) => enqueue(claim), onDelete: enqueue });
  slices.addHandler({ onAdd: enqueuePool, onUpdate: (_, slice) => enqueuePool(slice), onDelete: enqueuePool });
  const enqueueSelected = (...of: DeviceTaintRule[]): void =>
    claims
      .list()
      .filter((claim) => isSelected(claim, of))
      .forEach(enqueue);
  rules.addHandler({
    onAdd: (rule) => enqueueSelected(rule),
    onUpdate: (old, rule) => {
      if (!deepEqual(old.spec, rule.spec)) enqueueSelected(old, rule);
    },
    onDelete: (rule) => enqueueSelected(rule),
  });
  return {
    name: NAME,
    async start(signal) {
      let areRulesServed: boolean;
      try {
        areRulesServed = await rules.start(signal);
      } catch (error) {
        if (!signal.aborted) throw error;
        return; // Before the rules were known.
      }
      await Promise.all([loop.start(signal), ...(areRulesServed ? [statuses.start(signal)] : [])]);
    },
  };
}

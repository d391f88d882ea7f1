/**
 * Evicts pods whose devices have a NoExecute taint that the pods' claims do not tolerate, at once or after their
 * tolerationSeconds. Taints come from ResourceSlices or DeviceTaintRules. Upstream:
 * pkg/controller/devicetainteviction.
 *
 * Watches: claims, slices, pods, and taint rules where they are served. Deletes pods; writes alone rules' condition
 * (`rule-status.ts`). The toleration period begins when the taint was added, as the API server recorded it; for
 * slices stored by a server that did not, when the controller first sees them.
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
import type { Stored } from '../../api/object.ts';
import { parseTime } from '../../api/time.ts';
import { deepEqual } from '../../base/equal.ts';
import type { ResourceClient } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import { type Informer, onEveryChange } from '../../client/informer.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { createOptionalInformer, type OptionalInformer } from '../../client/optional-informer.ts';
import { ruleSelects } from '../../component-helpers/device-taint-rules.ts';
import { isPodTerminal } from '../../component-helpers/pods.ts';
import type { Clock } from '../../platform/clock.ts';
import { type Controller, type ControllerDeps, createKeyedLoop, informerList, type KeyedLoop } from '../controller.ts';
import { createEvictionMetrics, type EvictionMetrics, evictPod } from '../pod-eviction.ts';
import { deviceToleratedMs } from './device-tolerations.ts';
import { createRuleStatusLoop, type RuleStatusLoop } from './rule-status.ts';

const NAME = 'device-taint-eviction-controller';
const CLAIMS_BY_POOL = 'device-pool';
const SLICES_BY_POOL = 'slice-pool';
const NEVER = Number.POSITIVE_INFINITY;
const EVENT = 'DeviceTaintManagerEviction';
const WORDS = {
  event: EVENT,
  reason: 'DeletionByDeviceTaintManager',
  message: 'Device Taint manager: deleting due to NoExecute taint',
} as const;

/** A taint of an allocated device, with its rule, if a rule added it. */
interface Origin {
  readonly taint: DeviceTaint;
  readonly rule?: DeviceTaintRule;
}

const poolKey = (driver: string, pool: string): string => `${driver}/${pool}`;
const poolOf = ({ spec }: ResourceSlice): string => poolKey(spec.driver, spec.pool.name);

/** NoExecute taints of an allocated device, from the newest generation of its pool. */
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
  return new DeviceTaintEvictionController(deps);
}

/** Upstream: devicetainteviction.Controller. */
class DeviceTaintEvictionController implements Controller {
  readonly name = NAME;
  readonly #clock: Clock;
  readonly #client: ResourceClient<Pod>;
  readonly #recorder: EventRecorder;
  readonly #claims: Informer<ResourceClaim>;
  readonly #slices: Informer<ResourceSlice>;
  readonly #pods: Informer<Pod>;
  readonly #rules: OptionalInformer<DeviceTaintRule>;
  readonly #metrics: EvictionMetrics;
  /** When taints without a stored time were first seen, by claim, device and taint. */
  readonly #seenMs: Map<string, number>;
  /** Claims with a running toleration period. */
  readonly #running: Set<string>;
  readonly #loop: KeyedLoop;
  readonly #statuses: RuleStatusLoop;

  constructor(deps: ControllerDeps) {
    this.#clock = deps.platform.clock;
    const log = deps.platform.log;
    const own = deps.clientFor(NAME);
    this.#client = own.resource(Pods);
    this.#recorder = deps.recorderFor(NAME);
    this.#claims = deps.informers.informer(ResourceClaims);
    this.#slices = deps.informers.informer(ResourceSlices);
    this.#pods = deps.informers.informer(Pods);
    const { informers } = deps;
    this.#rules = createOptionalInformer(
      { client: own, informers, clock: this.#clock, log: log.child(NAME) },
      DeviceTaintRules,
    );
    this.#metrics = createEvictionMetrics(deps.platform.metrics, 'device_taint_eviction_controller');
    this.#seenMs = new Map<string, number>();
    this.#running = new Set<string>();
    this.#loop = createKeyedLoop(deps, {
      name: NAME,
      workers: 8,
      informers: informerList(this.#claims, this.#slices, this.#pods),
      sync: (key, signal) => this.#sync(key, signal),
    });
    this.#statuses = createRuleStatusLoop(deps, {
      rules: this.#rules,
      client: own,
      claims: this.#claims,
      slices: this.#slices,
      pods: this.#pods,
      podsOf: (object) => this.#podsOf(object),
    });
    this.#addHandlers();
  }

  async #sync(key: string, signal: AbortSignal): Promise<void> {
    const claim = this.#claims.get(parseKey(key));
    const { dueMs, origins } = claim === undefined ? { dueMs: NEVER, origins: [] } : this.#evictionOf(key, claim);
    if (claim === undefined || dueMs === NEVER) return this.#cancel(key, claim);
    const leftMs = dueMs - this.#clock.nowMs();
    if (leftMs > 0) {
      this.#running.add(key);
      return this.#loop.queue.addAfter(key, leftMs);
    }
    this.#running.delete(key);
    for (const pod of this.#podsOf(claim)) {
      if (
        !(await evictPod({ pods: this.#client, recorder: this.#recorder, clock: this.#clock }, pod, {
          words: WORDS,
          signal,
        }))
      )
        continue;
      this.#metrics.deleted((this.#clock.nowMs() - dueMs) / 1000);
      for (const { rule } of origins) if (rule !== undefined) this.#statuses.evicted(rule);
    }
  }

  /** The wall-clock time at which the claim's pods are evicted, and the taint that causes it. */
  #evictionOf(
    key: string,
    { metadata, status }: ResourceClaim,
  ): { readonly dueMs: number; readonly origins: readonly Origin[] } {
    let dueMs = NEVER;
    const origins: Origin[] = [];
    const current = new Set<string>();
    for (const result of status?.allocation?.devices?.results ?? []) {
      const { driver, pool, device } = result;
      for (const origin of this.#taintsOf(result)) {
        const { taint } = origin;
        let beganMs = parseTime(taint.timeAdded ?? undefined);
        if (Number.isNaN(beganMs)) {
          const seenKey = [key, metadata.uid, driver, pool, device, taint.key, taint.value ?? ''].join('|');
          current.add(seenKey);
          beganMs = this.#seenMs.get(seenKey) ?? this.#clock.nowMs();
          this.#seenMs.set(seenKey, beganMs);
        }
        const toleratedMs = deviceToleratedMs(result, taint);
        if (toleratedMs !== NEVER) origins.push(origin);
        dueMs = Math.min(dueMs, beganMs + toleratedMs);
      }
    }
    for (const known of this.#seenMs.keys())
      if (known.startsWith(`${key}|`) && !current.has(known)) this.#seenMs.delete(known);
    return { dueMs, origins };
  }

  #taintsOf(result: DeviceRequestAllocationResult): Origin[] {
    const ofPool = this.#slices.byIndex(SLICES_BY_POOL, poolKey(result.driver, result.pool));
    const ofSlices = ofPool.length === 0 ? [] : deviceTaints(ofPool, result.device);
    const evicting = this.#rules
      .list()
      .filter((rule) => rule.spec.taint.effect === 'NoExecute' && ruleSelects(rule, result))
      .map((rule): Origin => ({ taint: rule.spec.taint, rule }));
    return [...ofSlices.map((taint): Origin => ({ taint })), ...evicting];
  }

  /** Pods that use the claim and have not ended. */
  #podsOf({ metadata, status }: Stored<ResourceClaim>): Stored<Pod>[] {
    return (status?.reservedFor ?? []).flatMap(({ resource, apiGroup = '', name, uid }) => {
      if (resource !== 'pods' || apiGroup !== '') return [];
      const pod = this.#pods.get({ namespace: metadata.namespace, name });
      const runs = pod?.metadata.uid === uid && pod?.metadata.deletionTimestamp === undefined;
      return pod !== undefined && runs && !isPodTerminal(pod) ? [pod] : [];
    });
  }

  #cancel(key: string, claim: Stored<ResourceClaim> | undefined): void {
    for (const known of claim === undefined ? this.#seenMs.keys() : [])
      if (known.startsWith(`${key}|`)) this.#seenMs.delete(known);
    if (!this.#running.delete(key) || claim === undefined) return;
    for (const pod of this.#podsOf(claim))
      this.#recorder.event(pod, 'Normal', EVENT, `Cancelling deletion of Pod ${keyOfObject(pod)}`);
  }

  #enqueuePool(slice: ResourceSlice): void {
    for (const claim of this.#claims.byIndex(CLAIMS_BY_POOL, poolOf(slice))) this.#loop.queue.add(keyOfObject(claim));
  }

  #enqueue(claim: ResourceClaim): void {
    this.#loop.queue.add(keyOfObject(claim));
  }

  #enqueueSelected(...changed: DeviceTaintRule[]): void {
    this.#claims
      .list()
      .filter((claim) => isSelected(claim, changed))
      .forEach((claim) => this.#enqueue(claim));
  }

  async start(signal: AbortSignal): Promise<void> {
    let areRulesServed: boolean;
    try {
      areRulesServed = await this.#rules.start(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      return; // before the rules were synced
    }
    await Promise.all([this.#loop.start(signal), ...(areRulesServed ? [this.#statuses.start(signal)] : [])]);
  }

  #addHandlers(): void {
    this.#claims.addIndex(CLAIMS_BY_POOL, ({ status }) => [
      ...new Set((status?.allocation?.devices?.results ?? []).map(({ driver, pool }) => poolKey(driver, pool))),
    ]);
    this.#slices.addIndex(SLICES_BY_POOL, (slice) => [poolOf(slice)]);
    this.#claims.addHandler(onEveryChange((claim) => this.#enqueue(claim)));
    this.#slices.addHandler(onEveryChange((slice) => this.#enqueuePool(slice)));
    this.#rules.addHandler({
      onAdd: (rule) => this.#enqueueSelected(rule),
      onUpdate: (old, rule) => {
        if (!deepEqual(old.spec, rule.spec)) this.#enqueueSelected(old, rule);
      },
      onDelete: (rule) => this.#enqueueSelected(rule),
    });
  }
}

/**
 * Writes a DeviceTaintRule's condition EvictionInProgress: the number of pods still to be evicted or, for effect
 * None, of those that would be. Upstream: maybeUpdateRuleStatus of devicetainteviction.
 *
 * Writes alone: the condition. It is written at once when a rule is new or changed, then at most every ten seconds. A
 * condition that an earlier controller wrote for this generation stays while nothing changes, since only that
 * controller knew its number of evictions.
 */
import { type Int64 } from '../../api/int64.ts';
import type { Condition } from '../../api/gen/meta-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { DeviceRequestAllocationResult, ResourceClaim, ResourceSlice } from '../../api/gen/resource-v1.ts';
import type { DeviceTaintRule } from '../../api/gen/resource-v1beta2.ts';
import { DeviceTaintRules } from '../../api/gen/resources.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import { formatTime, parseTime } from '../../api/time.ts';
import type { Stored } from '../../api/object.ts';
import { deepEqual } from '../../base/equal.ts';
import type { Client } from '../../client/client.ts';
import type { Informer } from '../../client/informer.ts';
import type { OptionalInformer } from '../../client/optional-informer.ts';
import { ruleSelects, type DeviceName } from '../../component-helpers/device-taint-rules.ts';
import { claimNamesOf } from '../../component-helpers/resource-claims.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';
import { deviceToleratedMs } from './device-tolerations.ts';

const TYPE = 'EvictionInProgress';
const PERIOD_MS = 10_000;

/** The effects of a rule, or of a dry run. */
export interface RuleCounts {
  readonly pods: number;
  readonly namespaces: number;
  /** Devices in slices that the rule selects. */
  readonly published: number;
  readonly allocated: number;
  /** Pods that this controller evicted because of it. */
  readonly evicted: number;
}

const count = (number: number, one: string, many: string): string => `${number} ${number === 1 ? one : many}`;
const inNamespaces = (number: number): string => count(number, 'namespace', 'different namespaces');

/** The condition without its time. Pure. */
export function ruleCondition(rule: DeviceTaintRule, counts: RuleCounts): Omit<Condition, 'lastTransitionTime'> {
  const { pods, namespaces, published, allocated, evicted } = counts;
  const { effect } = rule.spec.taint;
  const condition: { status?: 'True'; reason: string; message: string } =
    effect === 'NoExecute' && pods > 0
      ? {
          status: 'True',
          reason: 'PodsPendingEviction',
          message: `${count(pods, 'pod needs', 'pods need')} to be evicted in ${inNamespaces(namespaces)}.`,
        }
      : effect === 'NoExecute'
        ? evicted > 0
          ? { reason: 'Completed', message: '' }
          : { reason: 'NotStarted', message: 'No pod needs to be evicted.' }
        : effect === 'None'
          ? {
              reason: 'NoEffect',
              message: [
                `${count(published, 'published device', 'published devices')} selected.`,
                `${count(allocated, 'allocated device', 'allocated devices')} selected.`,
                `${count(pods, 'pod', 'pods')} would be evicted in ${inNamespaces(namespaces)} if the effect was NoExecute.`,
                'This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.',
              ].join(' '),
            }
          : { reason: 'OtherEffect', message: 'Eviction only happens for the NoExecute effect.' };
  const since = evicted > 0 ? [`${count(evicted, 'pod', 'pods')} evicted since starting the controller.`] : [];
  return {
    type: TYPE,
    status: condition.status ?? 'False',
    reason: condition.reason,
    message: [...(condition.message === '' ? [] : [condition.message]), ...since].join(' '),
    observedGeneration: rule.metadata.generation ?? 0,
  };
}

export interface RuleStatusDeps {
  readonly rules: OptionalInformer<DeviceTaintRule>;
  readonly client: Client;
  readonly claims: Informer<ResourceClaim>;
  readonly slices: Informer<ResourceSlice>;
  readonly pods: Informer<Pod>;
  /** Pods that use the claim and have not ended. */
  readonly podsOf: (claim: Stored<ResourceClaim>) => readonly Stored<Pod>[];
}

/** The loop, and the handlers of its events. */
export interface RuleStatusLoop extends Controller {
  /** A pod was evicted because of the rule. */
  evicted(rule: DeviceTaintRule): void;
}

/** Used only where the server serves taint rules. */
export function createRuleStatusLoop(deps: ControllerDeps, statusDeps: RuleStatusDeps): RuleStatusLoop {
  const { rules, client, claims, slices, pods } = statusDeps;
  const { clock } = deps.platform;
  const evictedBy = new Map<string, number>();
  const loop = createKeyedLoop(deps, {
    name: 'device-taint-eviction-controller-rules',
    workers: 1,
    informers: informerList(claims, slices, pods),
    sync: syncRuleStatus,
  });

  async function syncRuleStatus(name: string, signal: AbortSignal): Promise<void> {
    const rule = rules.get(name);
    if (rule === undefined) return;
    const { uid, generation = 0, resourceVersion } = rule.metadata;
    const conditions = rule.status?.conditions ?? [];
    const before = conditions.find(({ type }) => type === TYPE);
    const ageMs = clock.nowMs() - parseTime(before?.lastTransitionTime);
    const isCurrent = before?.observedGeneration === generation;
    if (isCurrent && ageMs < PERIOD_MS) return loop.queue.addAfter(name, PERIOD_MS - ageMs);
    const counts = countFor(statusDeps, rule, evictedBy.get(uid) ?? 0);
    if (isCurrent && counts.evicted === 0 && (counts.pods === 0 || rule.spec.taint.effect !== 'NoExecute')) {
      if (before.status === 'False') return;
    }
    const { lastTransitionTime: _, ...rest } = before ?? { lastTransitionTime: '' };
    const condition = ruleCondition(rule, counts);
    // Pods may end by themselves, so it is checked again until none is left.
    if (condition.status === 'True') loop.queue.addAfter(name, PERIOD_MS);
    if (deepEqual(rest, condition)) return;
    const next = { ...condition, lastTransitionTime: formatTime(clock.nowMs()) };
    // Conditions are replaced as a list: conditions that others wrote meanwhile must not be lost.
    const status = { conditions: [...conditions.filter(({ type }) => type !== TYPE), next] };
    await client
      .resource(DeviceTaintRules)
      .patch(
        { name },
        { type: 'merge', patch: { metadata: { uid, resourceVersion }, status } },
        { subresource: 'status', signal },
      )
      .catch(ignoreNotFound);
  }

  const enqueue = (rule: Stored<DeviceTaintRule>): void => loop.queue.add(rule.metadata.name);
  rules.addHandler({
    onAdd: enqueue,
    onUpdate: (old, rule) => {
      if (!deepEqual(old.spec, rule.spec)) enqueue(rule);
    },
    onDelete: (rule) => evictedBy.delete(rule.metadata.uid),
  });
  const enqueueSelecting = ({ status }: ResourceClaim): void => {
    const results = status?.allocation?.devices?.results ?? [];
    for (const rule of rules.list())
      if (rule.spec.taint.effect === 'NoExecute' && results.some((result) => ruleSelects(rule, result))) enqueue(rule);
  };
  const enqueueOfPod = (pod: Stored<Pod>): void => {
    for (const name of claimNamesOf(pod)) {
      const claim = claims.get({ namespace: pod.metadata.namespace, name });
      if (claim !== undefined) enqueueSelecting(claim);
    }
  };
  claims.addHandler({
    onAdd: enqueueSelecting,
    onUpdate(old, claim) {
      enqueueSelecting(old);
      enqueueSelecting(claim);
    },
    onDelete: enqueueSelecting,
  });
  pods.addHandler({ onAdd: enqueueOfPod, onUpdate: (_, pod) => enqueueOfPod(pod), onDelete: enqueueOfPod });
  return {
    name: loop.name,
    start: (signal) => loop.start(signal),
    evicted({ metadata: { name = '', uid = '' } }) {
      evictedBy.set(uid, (evictedBy.get(uid) ?? 0) + 1);
      loop.queue.addAfter(name, PERIOD_MS);
    },
  };
}

function countFor({ claims, slices, podsOf }: RuleStatusDeps, rule: DeviceTaintRule, evicted: number): RuleCounts {
  const taint = { ...rule.spec.taint, effect: 'NoExecute' };
  const pods = new Map<string, string>();
  let allocated = 0;
  for (const claim of claims.list()) {
    const results = (claim.status?.allocation?.devices?.results ?? []).filter((result) => ruleSelects(rule, result));
    allocated += results.length;
    const evicts = (result: DeviceRequestAllocationResult): boolean =>
      deviceToleratedMs(result, taint) !== Number.POSITIVE_INFINITY;
    if (!results.some(evicts)) continue;
    for (const { metadata } of podsOf(claim)) pods.set(metadata.uid, metadata.namespace);
  }
  const published = devicesOf(slices.list()).filter((device) => ruleSelects(rule, device)).length;
  return { pods: pods.size, namespaces: new Set(pods.values()).size, published, allocated, evicted };
}

/** Devices in the newest generation of each pool. */
function devicesOf(slices: readonly ResourceSlice[]): DeviceName[] {
  const newest = new Map<string, Int64>();
  const poolOf = ({ spec }: ResourceSlice): string => `${spec.driver}/${spec.pool.name}`;
  for (const slice of slices) {
    const { generation } = slice.spec.pool;
    if (generation > (newest.get(poolOf(slice)) ?? -1)) newest.set(poolOf(slice), generation);
  }
  return slices
    .filter((slice) => slice.spec.pool.generation === newest.get(poolOf(slice)))
    .flatMap(({ spec }) =>
      (spec.devices ?? []).map(({ name }) => ({ driver: spec.driver, pool: spec.pool.name, device: name })),
    );
}

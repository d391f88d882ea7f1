/**
 * ResourceQuota: refuses requests that would exceed a quota of the namespace, and charges the quotas for the others.
 * Runs last, so that what is charged is what will be stored. Upstream: apiserver/pkg/admission/plugin/resourcequota.
 *
 * Invariant: the charge is a compare-and-swap on the quota's status in the store, so that concurrent requests cannot
 * exceed the quota together. The charge for a request that fails later is corrected by the quota controller's next
 * count; so is the charge to one quota when another quota, filled by somebody else in the meantime, refuses the
 * request. Reverting it here would undo a count made in between.
 */
import type { Pod, ResourceQuota } from '../../../api/gen/core-v1.ts';
import { DeviceClasses, Pods, ResourceClaims, ResourceQuotas } from '../../../api/gen/resources.ts';
import type { KubernetesObject, Stored } from '../../../api/object.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import { StepMeter, stepByStep, type Steps } from '../../../base/steps.ts';
import type { QuotaEvaluator, QuotaLookups } from '../../../component-helpers/quota/evaluator.ts';
import { evaluatorFor } from '../../../component-helpers/quota/evaluators.ts';
import {
  addLists,
  formatList,
  maskList,
  subtractLists,
  type Quantities,
} from '../../../component-helpers/quota/resource-lists.ts';
import { inScopes } from '../../../component-helpers/quota/scopes.ts';
import type { FaultDetail } from '../../../component-helpers/refused-request.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import { recordFault } from '../../refused-requests/refusal-source.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';
import { refusal } from '../refusal.ts';
import { type LimitedResource, limitedWithoutQuota } from './limited-resources.ts';

/** Kinds whose usage an update can increase. */
const MEASURED_ON_UPDATE = ['services', 'persistentvolumeclaims'];

/** `limited`: resources that need a covering quota. */
export function createResourceQuota(
  objects: () => ObjectStore,
  clock: Clock,
  limited: readonly LimitedResource[] = [],
): AdmissionPlugin {
  const lookups: QuotaLookups = {
    deviceClasses: () => objects().list(DeviceClasses),
    pod: (namespace, name) => objects().get(Pods, namespace, name),
    resourceClaims: (namespace) => objects().list(ResourceClaims, namespace),
  };
  return {
    name: 'ResourceQuota',
    handles(operation, { namespaced, group, resource }, subresource) {
      if (!namespaced) return false;
      if (operation === 'CREATE') return subresource === '';
      if (operation !== 'UPDATE' || group !== '') return false;
      return resource === 'pods'
        ? subresource === 'resize' || subresource === ''
        : subresource === '' && MEASURED_ON_UPDATE.includes(resource);
    },
    validate(attributes) {
      const { resource, namespace, object, oldObject } = attributes;
      if (object === undefined) return;
      if (isPodUpdate(attributes) && !changesScope(oldObject as Pod, object as Pod)) return;
      const all = objects().list(ResourceQuotas, namespace);
      if (all.length === 0 && limited.length === 0) return;
      const evaluator = evaluatorFor(resource, lookups);
      const nowMs = clock.nowMs();
      const usage = evaluator.usage(object, nowMs);
      const before = oldObject && evaluator.usage(oldObject, nowMs);
      const work: Charge = { attributes, evaluator, usage, before, names: new Map() };
      const steps = chargedQuotas(all, limited, work);
      const charged = stepByStep(steps, () => attributes.context.nextStep?.());
      return charged instanceof Promise
        ? charged.then((quotas) => chargeAll(objects(), quotas, work))
        : chargeAll(objects(), charged, work);
    },
  };
}

/** Quotas may have tens of thousands of names; one step handles about this many. */
const NAMES_PER_STEP = 5000;

/** The quotas to charge for the request. Throws when one of them refuses it. */
function* chargedQuotas(
  all: readonly Stored<ResourceQuota>[],
  limited: readonly LimitedResource[],
  work: Charge,
): Steps<readonly Stored<ResourceQuota>[]> {
  const { attributes, evaluator, usage, before } = work;
  const { resource, object } = attributes;
  const meter = new StepMeter(NAMES_PER_STEP);
  const covering: Stored<ResourceQuota>[] = [];
  for (const quota of all) {
    const names = measuredNames(quota, work);
    if (names.length > 0 && inScopes(evaluator, quota.spec ?? {}, object!)) covering.push(quota);
    if (meter.endsStep(sizeOf(quota))) yield;
  }
  for (const quota of covering) {
    assertReady(quota, work);
    if (meter.endsStep(sizeOf(quota))) yield;
  }
  // Without an increase in any resource, limited resources may stay as they are.
  const asked = covering.length === 0 ? [more(usage, before)] : covering.map((quota) => asks(quota, work));
  if (asked.every((list) => Object.keys(list).length === 0)) return [];
  const why = limitedWithoutQuota(limited, { resource, object: object!, evaluator, usage }, { all, covering });
  if (why !== undefined) throw refusal(attributes, why);
  const charged = covering.filter((quota) => Object.keys(increase(quota, work)).length > 0);
  // All are checked before one is charged, so that a refusal by one charges none of the others.
  for (const quota of charged) {
    withCharge(quota, work);
    if (meter.endsStep(sizeOf(quota))) yield;
  }
  return charged;
}

function sizeOf({ spec, status }: ResourceQuota): number {
  const count = (names: object | undefined): number => (names === undefined ? 0 : Object.keys(names).length);
  return 1 + count(status?.hard) + (spec?.scopeSelector?.matchExpressions?.length ?? 0);
}

/** Pods are evaluated again when an update moves them into other scopes, and when they are resized. */
function isPodUpdate({ operation, resource, subresource }: AdmissionAttributes): boolean {
  return operation === 'UPDATE' && resource.group === '' && resource.resource === 'pods' && subresource === '';
}

function changesScope(old: Pod, pod: Pod): boolean {
  return (old.spec?.activeDeadlineSeconds === undefined) !== (pod.spec?.activeDeadlineSeconds === undefined);
}

async function chargeAll(objects: ObjectStore, charged: readonly Stored<ResourceQuota>[], work: Charge): Promise<void> {
  const { namespace, dryRun } = work.attributes;
  if (dryRun) return;
  for (const { metadata } of charged)
    await objects.guaranteedUpdate(ResourceQuotas, namespace, metadata.name, (quota) => withCharge(quota, work));
}

interface Charge {
  readonly attributes: AdmissionAttributes;
  readonly evaluator: QuotaEvaluator;
  readonly usage: Quantities;
  /** The usage of the old object, where there is one. */
  readonly before: Quantities | undefined;
  /** The measured names of each quota's limits, computed once. */
  readonly names: Map<Quantities, readonly string[]>;
}

/** The resources that the quota enforces: those in the spec that the quota controller has counted already. */
function measuredNames({ status }: ResourceQuota, { evaluator, names }: Charge): readonly string[] {
  const { hard } = status ?? {};
  if (hard === undefined) return [];
  let measured = names.get(hard);
  if (measured === undefined) {
    measured = Object.keys(hard).filter((name) => evaluator.measures(name));
    names.set(hard, measured);
  }
  return measured;
}

/** Throws when the object does not set the measured fields, or when the quota's usage has not been counted yet. */
function assertReady(quota: ResourceQuota, work: Charge): void {
  const { attributes, evaluator } = work;
  const { name = '' } = quota.metadata;
  const { namespace } = attributes;
  const refused = (why: string, detail: FaultDetail): Error =>
    recordFault(refusal(attributes, why), ResourceQuotas, { namespace, name }, detail);
  const names = measuredNames(quota, work);
  const problem = evaluator.constraints(names, attributes.object as KubernetesObject);
  if (problem !== undefined) throw refused(`failed quota: ${name}: ${problem}`, 'unsaid');
  if (names.some((one) => quota.status?.used?.[one] === undefined))
    throw refused(`status unknown for quota: ${name}, resources: ${names.toSorted().join(',')}`, 'uncounted');
}

/** The quota with the request's increase. Throws when that exceeds it. */
function withCharge(quota: ResourceQuota, work: Charge): ResourceQuota {
  assertReady(quota, work);
  const { hard = {}, used = {} } = quota.status ?? {};
  const requested = increase(quota, work);
  const after = addLists(used, requested);
  const exceeded = Object.keys(requested).filter(
    (name) => compareQuantities(after[name] ?? '0', hard[name] ?? '0') > 0,
  );
  if (exceeded.length === 0) return { ...quota, status: { ...quota.status, hard, used: after } };
  const only = (list: Quantities): string => formatList(maskList(list, exceeded));
  const { name = '' } = quota.metadata;
  const { namespace } = work.attributes;
  throw recordFault(
    refusal(
      work.attributes,
      `exceeded quota: ${name}, requested: ${only(requested)}, used: ${only(used)}, limited: ${only(hard)}`,
    ),
    ResourceQuotas,
    { namespace, name },
  );
}

/** The request's increase of the resources that the quota names. */
function increase(quota: ResourceQuota, work: Charge): Record<string, string> {
  return maskList(asks(quota, work), measuredNames(quota, work));
}

/**
 * Whether the request increases usage in the quota's scopes, of resources that the quota names or not. An update that
 * adds nothing is free.
 */
function asks(quota: ResourceQuota, { attributes, evaluator, usage, before }: Charge): Record<string, string> {
  const { oldObject } = attributes;
  const counted = oldObject !== undefined && inScopes(evaluator, quota.spec ?? {}, oldObject);
  return more(usage, counted ? before : undefined);
}

function more(usage: Quantities, before: Quantities = {}): Record<string, string> {
  const difference = Object.entries(subtractLists(usage, before));
  return Object.fromEntries(difference.filter(([, quantity]) => compareQuantities(quantity, '0') > 0));
}

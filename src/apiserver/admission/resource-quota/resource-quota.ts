/**
 * ResourceQuota: refuses what would exceed a quota of the namespace, and charges the quota for the rest. Runs last, so that
 * what is charged is what will be stored. Upstream: apiserver/pkg/admission/plugin/resourcequota.
 *
 * Invariant: the charge is a compare-and-swap on the quota's status in the store, so that requests at the same time cannot
 * overshoot together. What is charged for a request that fails later is given back by the quota controller's next count:
 * so is what one quota was charged before another, which somebody else filled meanwhile, refused. To give it back here
 * would undo a count that was taken between.
 */
import type { Pod, ResourceQuota } from '../../../api/gen/core-v1.ts';
import { DeviceClasses, Pods, ResourceClaims, ResourceQuotas } from '../../../api/gen/resources.ts';
import type { KubernetesObject, Stored } from '../../../api/object.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import { forbidden } from '../../../api/status-error.ts';
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
import { noteFault } from '../../refused-requests/refusal-source.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';
import { type LimitedResource, uncovered } from './limited-resources.ts';

/** Kinds whose usage an update can raise. */
const MEASURED_ON_UPDATE = ['services', 'persistentvolumeclaims'];

/** Creates the plugin. `limited`: what may not be used without a quota that covers it. */
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
      const charged = stepByStep(steps, () => attributes.context.pause?.());
      return charged instanceof Promise
        ? charged.then((quotas) => chargeAll(objects(), quotas, work))
        : chargeAll(objects(), charged, work);
    },
  };
}

/** Quotas may have tens of thousands of names: one step has about this many. */
const NAMES_PER_STEP = 5000;

/** The quotas that the request is charged to. Throws when one of them refuses it. */
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
  // Where nothing more is asked for, of whatever it is, what is limited may stay as it is.
  const asked = covering.length === 0 ? [more(usage, before)] : covering.map((quota) => asks(quota, work));
  if (asked.every((list) => Object.keys(list).length === 0)) return [];
  const why = uncovered(limited, { resource, object: object!, evaluator, usage }, { all, covering });
  if (why !== undefined) throw refuse(attributes, why);
  const charged = covering.filter((quota) => Object.keys(increase(quota, work)).length > 0);
  // All are asked before one is charged: what one of them refuses as it stands now costs the others nothing.
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

/** Pods are evaluated again when a change puts them into other scopes, and when they are resized. */
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
  /** What the old object uses, where there is one. */
  readonly before: Quantities | undefined;
  /** What is measured of each quota's limits, worked out once. */
  readonly names: Map<Quantities, readonly string[]>;
}

/** Those in force: what the spec asks for counts once the quota controller has counted it. */
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

/** Throws when the object does not say what is to be measured, or what is used is not known. */
function assertReady(quota: ResourceQuota, work: Charge): void {
  const { attributes, evaluator } = work;
  const { name = '' } = quota.metadata;
  const { namespace } = attributes;
  const refused = (why: string, detail: FaultDetail): Error =>
    noteFault(refuse(attributes, why), ResourceQuotas, { namespace, name }, detail);
  const names = measuredNames(quota, work);
  const unsaid = evaluator.unsaid(names, attributes.object as KubernetesObject);
  if (unsaid !== undefined) throw refused(`failed quota: ${name}: ${unsaid}`, 'unsaid');
  if (names.some((one) => quota.status?.used?.[one] === undefined))
    throw refused(`status unknown for quota: ${name}, resources: ${names.toSorted().join(',')}`, 'uncounted');
}

/** The quota with what the request adds. Throws when that is too much. */
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
  throw noteFault(
    refuse(
      work.attributes,
      `exceeded quota: ${name}, requested: ${only(requested)}, used: ${only(used)}, limited: ${only(hard)}`,
    ),
    ResourceQuotas,
    { namespace, name },
  );
}

/** What the request adds to what the quota names. */
function increase(quota: ResourceQuota, work: Charge): Record<string, string> {
  return maskList(asks(quota, work), measuredNames(quota, work));
}

/** What the request adds in the scopes of the quota, named there or not. An update that adds nothing is free. */
function asks(quota: ResourceQuota, { attributes, evaluator, usage, before }: Charge): Record<string, string> {
  const { oldObject } = attributes;
  const counted = oldObject !== undefined && inScopes(evaluator, quota.spec ?? {}, oldObject);
  return more(usage, counted ? before : undefined);
}

function more(usage: Quantities, before: Quantities = {}): Record<string, string> {
  const difference = Object.entries(subtractLists(usage, before));
  return Object.fromEntries(difference.filter(([, quantity]) => compareQuantities(quantity, '0') > 0));
}

function refuse({ resource, name, object }: AdmissionAttributes, why: string): Error {
  return forbidden(resource, name === '' ? (object?.metadata.name ?? '') : name, why);
}

/**
 * ResourceQuota: refuses what would exceed a quota of the namespace, and charges the quota for the rest. Runs last, so that
 * what is charged is what will be stored. Upstream: apiserver/pkg/admission/plugin/resourcequota.
 *
 * Invariant: the charge is a compare-and-swap on the quota's status in the store, so that requests at the same time cannot
 * overshoot together. What is charged for a request that fails later is given back by the quota controller's next count.
 */
import type { ResourceQuota } from '../../../api/gen/core-v1.ts';
import { DeviceClasses, Pods, ResourceClaims, ResourceQuotas } from '../../../api/gen/resources.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import { compareQuantities, isZeroQuantity } from '../../../api/quantity.ts';
import { forbidden } from '../../../api/status-error.ts';
import type { QuotaEvaluator, QuotaLookups } from '../../../component-helpers/quota/evaluator.ts';
import { evaluatorFor, inScopes } from '../../../component-helpers/quota/evaluators.ts';
import {
  addLists,
  formatList,
  maskList,
  subtractLists,
  type Quantities,
} from '../../../component-helpers/quota/resource-lists.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
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
        ? subresource === 'resize'
        : subresource === '' && MEASURED_ON_UPDATE.includes(resource);
    },
    validate(attributes) {
      const { resource, namespace, object } = attributes;
      if (object === undefined) return;
      const all = objects().list(ResourceQuotas, namespace);
      if (all.length === 0 && limited.length === 0) return;
      const evaluator = evaluatorFor(resource, lookups);
      const covering = all.filter((quota) => concerns(quota, evaluator, attributes));
      if (limited.length > 0) {
        const usage = evaluator.usage(object, clock.nowMs());
        const why = uncovered(limited, { resource, object, evaluator, usage }, { all, covering });
        if (why !== undefined) throw refuse(attributes, why);
      }
      return chargeAll(objects(), covering, { attributes, evaluator, nowMs: clock.nowMs() });
    },
  };
}

async function chargeAll(objects: ObjectStore, covering: readonly ResourceQuota[], work: Charge): Promise<void> {
  for (const quota of covering) await charge(objects, quota, work);
}

interface Charge {
  readonly attributes: AdmissionAttributes;
  readonly evaluator: QuotaEvaluator;
  readonly nowMs: number;
}

function measuredNames(quota: ResourceQuota, evaluator: QuotaEvaluator): string[] {
  return Object.keys(quota.spec?.hard ?? {}).filter((name) => evaluator.measures(name));
}

function concerns(quota: ResourceQuota, evaluator: QuotaEvaluator, { object }: AdmissionAttributes): boolean {
  return (
    measuredNames(quota, evaluator).length > 0 && inScopes(evaluator, quota.spec ?? {}, object as KubernetesObject)
  );
}

async function charge(objects: ObjectStore, quota: ResourceQuota, work: Charge): Promise<void> {
  const { attributes, evaluator } = work;
  const { name = '' } = quota.metadata;
  const names = measuredNames(quota, evaluator);
  const unsaid = evaluator.unsaid(names, attributes.object as KubernetesObject);
  if (unsaid !== undefined) throw refuse(attributes, `failed quota: ${name}: ${unsaid}`);
  const requested = increase(quota, names, work);
  if (Object.keys(requested).length === 0) return;
  const next = (current: ResourceQuota): ResourceQuota => {
    const { hard = {}, used = {} } = current.status ?? {};
    const unknown = Object.keys(requested).filter((n) => hard[n] === undefined || used[n] === undefined);
    if (unknown.length > 0)
      throw refuse(attributes, `status unknown for quota: ${name}, resources: ${unknown.toSorted().join(',')}`);
    const after = addLists(used, requested);
    const exceeded = Object.keys(requested).filter((n) => compareQuantities(after[n] ?? '0', hard[n] ?? '0') > 0);
    if (exceeded.length > 0) {
      const only = (list: Quantities): string => formatList(maskList(list, exceeded));
      throw refuse(
        attributes,
        `exceeded quota: ${name}, requested: ${only(requested)}, used: ${only(used)}, limited: ${only(hard)}`,
      );
    }
    return { ...current, status: { ...current.status, hard, used: after } };
  };
  if (attributes.dryRun) next((await objects.getFresh(ResourceQuotas, attributes.namespace, name)) ?? quota);
  else await objects.guaranteedUpdate(ResourceQuotas, attributes.namespace, name, next);
}

/** What the request adds; an update that adds nothing is free. */
function increase(
  quota: ResourceQuota,
  names: readonly string[],
  { attributes, evaluator, nowMs }: Charge,
): Record<string, string> {
  const { object, oldObject } = attributes;
  let usage: Quantities = evaluator.usage(object as KubernetesObject, nowMs);
  if (oldObject !== undefined && inScopes(evaluator, quota.spec ?? {}, oldObject))
    usage = subtractLists(usage, evaluator.usage(oldObject, nowMs));
  return Object.fromEntries(
    Object.entries(maskList(usage, names)).filter(
      ([, quantity]) => !isZeroQuantity(quantity) && compareQuantities(quantity, '0') > 0,
    ),
  );
}

function refuse({ resource, name, object }: AdmissionAttributes, why: string): Error {
  return forbidden(resource, name === '' ? (object?.metadata.name ?? '') : name, why);
}

/**
 * Finds quotas that refuse a pod, by the server's computation, for servers that keep no records of refusals. Upstream:
 * plugin/resourcequota.
 */
import { LimitRanges, ResourceQuotas } from '../../api/gen/resources.ts';
import type { Pod, PodTemplateSpec, ResourceQuota } from '../../api/gen/core-v1.ts';
import { compareQuantities } from '../../api/quantity.ts';
import { inScopes } from '../../component-helpers/quota/scopes.ts';
import { podEvaluator } from '../../component-helpers/quota/pod-evaluator.ts';
import { addLists } from '../../component-helpers/quota/resource-lists.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause } from '../explanation.ts';
import { inNamespace, nameOfObject } from '../object-name.ts';

export async function quotaCauses(
  namespace: string,
  { metadata, spec }: PodTemplateSpec,
  evidence: Evidence,
): Promise<readonly Cause[]> {
  const quotas = await evidence.list(ResourceQuotas, { namespace });
  if (quotas.length === 0) return [];
  // A limit range may set requests and limits that the template lacks.
  const hasDefaults = (await evidence.listed(LimitRanges, { namespace }))?.length !== 0;
  const pod: Pod = { metadata: { ...metadata, namespace }, spec };
  return quotas
    .filter((quota) => inScopes(podEvaluator, quota.spec ?? {}, pod))
    .flatMap((quota) => [
      ...(hasDefaults ? [] : missingValueCauses(quota, pod)),
      ...exceededCauses(quota, pod, evidence),
    ]);
}

function measured({ status }: ResourceQuota): string[] {
  return Object.keys(status?.hard ?? {}).filter((name) => podEvaluator.measures(name));
}

function missingValueCauses(quota: ResourceQuota, pod: Pod): readonly Cause[] {
  const problem = podEvaluator.constraints(measured(quota), pod);
  if (problem === undefined) return [];
  const object = nameOfObject(ResourceQuotas, quota);
  return [
    cause({
      code: 'QuotaNeedsValues',
      object,
      message: `resource quota ${object.name} measures requests or limits that the pods do not set: every container has to`,
      facts: [problem],
      cure: {
        text: 'give every container these requests and limits, or set defaults by a limit range',
        command: `kubectl describe resourcequota ${object.name}${inNamespace(object)}`,
      },
    }),
  ];
}

function exceededCauses(quota: ResourceQuota, pod: Pod, { nowMs }: Evidence): readonly Cause[] {
  const { hard = {}, used = {} } = quota.status ?? {};
  const usage = podEvaluator.usage(pod, nowMs);
  const after = addLists(used, usage);
  const full = measured(quota).filter(
    (name) => usage[name] !== undefined && compareQuantities(after[name] ?? '0', hard[name] ?? '0') > 0,
  );
  if (full.length === 0) return [];
  const object = nameOfObject(ResourceQuotas, quota);
  const texts = full.map((name) => `${name} ${used[name] ?? '0'} of ${hard[name]}, a pod takes ${usage[name]}`);
  return [
    cause({
      code: 'QuotaUsedUp',
      object,
      message: `resource quota ${object.name} has no room for another pod: ${texts.join('; ')}`,
      cure: {
        text: 'raise the quota, or end what uses it',
        command: `kubectl describe resourcequota ${object.name}${inNamespace(object)}`,
      },
    }),
  ];
}

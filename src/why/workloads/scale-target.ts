/**
 * Explains why a horizontal pod autoscaler cannot read its target or its metrics: the target itself, and the APIs that serve
 * metrics.
 */
import { allResources, APIServices, HorizontalPodAutoscalers } from '../../api/gen/resources.ts';
import type { HorizontalPodAutoscaler } from '../../api/gen/autoscaling-v2.ts';
import type { PodTemplateSpec } from '../../api/gen/core-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { apiVersionOf, type ResourceInfo } from '../../api/resource-info.ts';
import { appendAll } from '../../base/lists.ts';
import type { Evidence, Lookup } from '../evidence.ts';
import { cause, type Cause } from '../explanation.ts';
import { inNamespace, nameOf, nameOfObject } from '../object-name.ts';

/** API groups of metrics by the condition's reason, with the versions that the controller supports. */
const METRIC_APIS: Readonly<Record<string, readonly string[]>> = {
  FailedGetResourceMetric: ['v1beta1.metrics.k8s.io'],
  FailedGetContainerResourceMetric: ['v1beta1.metrics.k8s.io'],
  FailedGetPodsMetric: ['v1beta1.custom.metrics.k8s.io', 'v1beta2.custom.metrics.k8s.io'],
  FailedGetObjectMetric: ['v1beta1.custom.metrics.k8s.io', 'v1beta2.custom.metrics.k8s.io'],
  FailedGetExternalMetric: ['v1beta1.external.metrics.k8s.io'],
};

/** The causes behind a condition with this reason. */
export async function causesBehind(
  reason: string,
  autoscaler: HorizontalPodAutoscaler,
  evidence: Evidence,
): Promise<readonly Cause[]> {
  if (reason === 'AmbiguousSelector') return rivalCauses(autoscaler, evidence);
  if (reason === 'FailedGetScale') return targetMissingCauses(autoscaler, evidence);
  const apis = METRIC_APIS[reason];
  if (apis === undefined) return [];
  const served = await apiCauses(apis, evidence);
  return served.length > 0 ? served : requestCauses(autoscaler, evidence);
}

/** Other autoscalers of the same object. */
async function rivalCauses(autoscaler: HorizontalPodAutoscaler, evidence: Evidence): Promise<readonly Cause[]> {
  const { namespace, name } = autoscaler.metadata;
  const { kind = '', name: target = '' } = autoscaler.spec?.scaleTargetRef ?? {};
  const all = await evidence.list(HorizontalPodAutoscalers, { namespace });
  return all
    .filter(({ metadata, spec }) => {
      const other = spec?.scaleTargetRef;
      return metadata.name !== name && other?.kind === kind && other.name === target;
    })
    .map((other) => {
      const object = nameOfObject(HorizontalPodAutoscalers, other);
      return cause({
        code: 'OtherAutoscaler',
        object,
        message: `autoscaler ${object.name} scales ${kind} ${target} too`,
        cure: {
          text: `delete one of them, ${name} or ${object.name}`,
          command: `kubectl get hpa${inNamespace(object)}`,
        },
      });
    });
}

interface Target extends Lookup<KubernetesObject> {
  readonly info: ResourceInfo;
  readonly namespace: string;
  readonly name: string;
}

/** Undefined when the target is of a custom kind. */
async function targetOf({ metadata, spec }: HorizontalPodAutoscaler, evidence: Evidence): Promise<Target | undefined> {
  const { apiVersion = '', kind = '', name = '' } = spec?.scaleTargetRef ?? {};
  const info = allResources.find((one) => one.kind === kind && apiVersionOf(one) === apiVersion);
  if (info === undefined) return undefined;
  const { namespace = '' } = metadata;
  const found = await evidence.get(info as ResourceInfo<KubernetesObject>, { namespace, name });
  return { ...found, info, namespace, name };
}

async function targetMissingCauses(autoscaler: HorizontalPodAutoscaler, evidence: Evidence): Promise<readonly Cause[]> {
  const target = await targetOf(autoscaler, evidence);
  if (target?.missing !== true) return [];
  const { info, name } = target;
  const message = `${info.singular} ${name}, which it is to scale, does not exist`;
  const cure = { text: `create ${info.singular} ${name}, or name another in spec.scaleTargetRef` };
  return [cause({ code: 'ScaleTargetMissing', object: nameOf(info, target), message, cure })];
}

async function apiCauses(names: readonly string[], evidence: Evidence): Promise<readonly Cause[]> {
  const causes: Cause[] = [];
  let missing = 0;
  for (const name of names) {
    const found = await evidence.get(APIServices, { name });
    if (found.missing) missing++;
    else if (found.object !== undefined) appendAll(causes, await evidence.causesOf(APIServices, found.object));
  }
  if (missing < names.length) return causes;
  const [name = ''] = names;
  const message = `no server serves ${name.slice(name.indexOf('.') + 1)}, from which it takes the metric`;
  const cure = { text: 'install a server of these metrics', command: 'kubectl get apiservices' };
  return [cause({ code: 'MetricsApiMissing', object: nameOf(APIServices, { name }), message, cure })];
}

/** A utilization target needs requests in all containers. */
async function requestCauses(autoscaler: HorizontalPodAutoscaler, evidence: Evidence): Promise<readonly Cause[]> {
  const target = await targetOf(autoscaler, evidence);
  const template = (target?.object as { spec?: { template?: PodTemplateSpec } } | undefined)?.spec?.template;
  if (target === undefined || template === undefined) return [];
  return (autoscaler.spec?.metrics ?? []).flatMap(({ resource, containerResource }) => {
    const metric = resource ?? containerResource;
    if (metric?.target.type !== 'Utilization') return [];
    const lacking = (template.spec?.containers ?? []).filter(
      ({ name, resources }) =>
        (containerResource === undefined || containerResource.container === name) &&
        resources?.requests?.[metric.name] === undefined &&
        resources?.limits?.[metric.name] === undefined,
    );
    if (lacking.length === 0) return [];
    const names = lacking.slice(0, 10).map(({ name }) => name);
    const message = `container ${names.join(', ')} requests no ${metric.name}, of which utilization is a share`;
    const cure = {
      text: `give it requests of ${metric.name} (resources.requests), or use a target of type AverageValue`,
    };
    return [cause({ code: 'RequestsMissing', object: nameOf(target.info, target), message, cure })];
  });
}

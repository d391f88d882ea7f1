/** Validation of autoscalers. Upstream: apis/autoscaling/validation. */
import type { Field } from '../field-error.ts';
import type {
  CrossVersionObjectReference,
  HorizontalPodAutoscaler,
  HPAScalingRules,
  MetricSpec,
  MetricTarget,
} from '../gen/autoscaling-v2.ts';
import { isDns1123Label, isPathSegmentName } from '../names.ts';
import { tryParseQuantity } from '../quantity.ts';
import { validateNonnegative, validateNonnegativeQuantity } from './common.ts';
import { validateContainerResourceName } from './resource-names.ts';

/** The field of each metric type, in upstream's order. */
const SOURCES = {
  Object: 'object',
  External: 'external',
  Pods: 'pods',
  Resource: 'resource',
  ContainerResource: 'containerResource',
} as const;
const SOURCE_TYPES = Object.keys(SOURCES).toSorted();
const MAX_STABILIZATION_SECONDS = 3600;
const MAX_PERIOD_SECONDS = 1800;

function isPositive(quantity: string | undefined): boolean {
  return (tryParseQuantity(quantity)?.nanos ?? 0n) > 0n;
}

function validateTarget(target: Partial<MetricTarget>, field: Field): void {
  const { type = '', value, averageValue, averageUtilization } = target;
  if (type === '') field.at('type').required('must specify a metric target type');
  if (!['AverageValue', 'Utilization', 'Value'].includes(type))
    field.at('type').invalid(type, 'must be either Utilization, Value, or AverageValue');
  if (value !== undefined && !isPositive(value)) field.at('value').invalid(value, 'must be positive');
  if (averageValue !== undefined && !isPositive(averageValue))
    field.at('averageValue').invalid(averageValue, 'must be positive');
  if (averageUtilization !== undefined && averageUtilization < 1)
    field.at('averageUtilization').invalid(averageUtilization, 'must be greater than 0');
}

function validateResourceTarget(target: Partial<MetricTarget>, field: Field): void {
  validateTarget(target, field);
  if (target.averageUtilization === undefined && target.averageValue === undefined)
    field.at('averageUtilization').required('must set either a target raw value or a target utilization');
  if (target.averageUtilization !== undefined && target.averageValue !== undefined)
    field.at('averageValue').forbidden('may not set both a target raw value and a target utilization');
}

/** As upstream, only the first source is validated; when there are several, those of other types are refused. */
function validateMetric(metric: MetricSpec, field: Field): void {
  const { type = '' } = metric;
  if (type === '') field.at('type').required('must specify a metric source type');
  const isKnown = Object.hasOwn(SOURCES, type);
  // As upstream, the error about the type occurs twice.
  if (!isKnown) for (let times = 0; times < 2; times++) field.at('type').notSupported(type, SOURCE_TYPES);
  const present = Object.values(SOURCES).filter((name) => metric[name] !== undefined);
  const [first] = present;
  if (first === 'resource' || first === 'containerResource') validateResourceMetric(metric, first, field.at(first));
  else if (first !== undefined) validateNamedMetric(metric, first, field.at(first));
  const wanted = isKnown ? SOURCES[type as keyof typeof SOURCES] : undefined;
  if (wanted !== undefined && metric[wanted] === undefined)
    field.at(wanted).required('must populate information for the given metric source');
  if (present.length > 1)
    for (const name of present.toSorted())
      if (name !== wanted) field.at(name).forbidden('must populate the given metric source only');
}

function validateResourceMetric(metric: MetricSpec, source: 'resource' | 'containerResource', field: Field): void {
  const { name = '', target = {} } = metric[source]!;
  if (name === '') field.at('name').required('must specify a resource name');
  if (source === 'containerResource') {
    if (name !== '') validateContainerResourceName(name, field.at('name'));
    const { container = '' } = metric.containerResource!;
    if (container === '') field.at('container').required('must specify a container');
    else field.at('container').complain(container, isDns1123Label(container));
  }
  validateResourceTarget(target, field.at('target'));
}

function validateNamedMetric(metric: MetricSpec, source: 'external' | 'object' | 'pods', field: Field): void {
  if (source === 'object') validateReference(metric.object!.describedObject ?? {}, field.at('describedObject'));
  const { metric: identifier, target = {} as Partial<MetricTarget> } = metric[source]!;
  const { name = '' } = identifier ?? {};
  if (name === '') field.at('metric').at('name').required('must specify a metric name');
  else field.at('metric').at('name').complain(name, isPathSegmentName(name));
  const place = field.at('target');
  validateTarget(target, place);
  if (source === 'pods') {
    if (target.averageValue === undefined)
      place.at('averageValue').required('must specify a positive target averageValue');
    return;
  }
  const either =
    source === 'object' ? 'a target value or averageValue' : 'a target value for metric or a per-pod target';
  if (target.value === undefined && target.averageValue === undefined)
    place.at('averageValue').required(`must set either ${either}`);
  if (source === 'external' && target.value !== undefined && target.averageValue !== undefined)
    place.at('value').forbidden('may not set both a target value for metric and a per-pod target');
}

/** Validates a reference by kind and name. `apiVersionProblem` is the error of its version. */
function validateReference(
  reference: Partial<CrossVersionObjectReference>,
  field: Field,
  apiVersionProblem = parseProblem(reference.apiVersion),
): void {
  for (const key of ['kind', 'name'] as const) {
    const value = reference[key] ?? '';
    if (value === '') field.at(key).required();
    else field.at(key).complain(value, isPathSegmentName(value));
  }
  if (apiVersionProblem !== '') field.at('apiVersion').invalid(reference.apiVersion ?? '', apiVersionProblem);
}

/** Go's error for an invalid apiVersion; empty for a valid one. */
function parseProblem(apiVersion = ''): string {
  return apiVersion.split('/').length > 2 ? `unexpected GroupVersion string: ${apiVersion}` : '';
}

/** In the core group only replication controllers can be scaled. A target that is unchanged is not checked again. */
function targetProblem(target: Partial<CrossVersionObjectReference>, old: HorizontalPodAutoscaler | undefined): string {
  const { apiVersion = '', kind = '' } = target;
  const before = old?.spec?.scaleTargetRef;
  if (before !== undefined && (before.apiVersion ?? '') === apiVersion && before.kind === kind) return '';
  const isCore = !apiVersion.includes('/') && kind !== 'ReplicationController';
  return parseProblem(apiVersion) || (isCore ? 'apiVersion must specify API group' : '');
}

function validateRules(rules: HPAScalingRules | undefined, field: Field): void {
  if (rules === undefined) return;
  const { stabilizationWindowSeconds: window, selectPolicy, policies } = rules;
  if (window !== undefined && window < 0)
    field.at('stabilizationWindowSeconds').invalid(window, 'must be greater than or equal to zero');
  if (window !== undefined && window > MAX_STABILIZATION_SECONDS)
    field
      .at('stabilizationWindowSeconds')
      .invalid(window, `must be less than or equal to ${MAX_STABILIZATION_SECONDS}`);
  if (selectPolicy !== undefined && !['Disabled', 'Max', 'Min'].includes(selectPolicy))
    field.at('selectPolicy').notSupported(selectPolicy, ['Disabled', 'Max', 'Min']);
  if ((policies ?? []).length === 0) field.at('policies').required('must specify at least one Policy');
  for (const [index, policy] of (policies ?? []).entries()) {
    const place = field.at('policies').item(index);
    if (policy.type !== 'Pods' && policy.type !== 'Percent')
      place.at('type').notSupported(policy.type, ['Percent', 'Pods']);
    if (policy.value <= 0) place.at('value').invalid(policy.value, 'must be greater than zero');
    if (policy.periodSeconds <= 0) place.at('periodSeconds').invalid(policy.periodSeconds, 'must be greater than zero');
    if (policy.periodSeconds > MAX_PERIOD_SECONDS)
      place.at('periodSeconds').invalid(policy.periodSeconds, `must be less than or equal to ${MAX_PERIOD_SECONDS}`);
  }
  if (rules.tolerance !== undefined) validateNonnegativeQuantity(rules.tolerance, field.at('tolerance'));
}

export function validateHorizontalPodAutoscaler(autoscaler: HorizontalPodAutoscaler, field: Field): void {
  validateSpec(autoscaler, undefined, field);
}

export function validateHorizontalPodAutoscalerUpdate(
  autoscaler: HorizontalPodAutoscaler,
  old: HorizontalPodAutoscaler,
  field: Field,
): void {
  validateSpec(autoscaler, old, field);
}

function validateSpec(
  autoscaler: HorizontalPodAutoscaler,
  old: HorizontalPodAutoscaler | undefined,
  field: Field,
): void {
  const place = field.at('spec');
  const spec = autoscaler.spec;
  if (spec === undefined) return place.required();
  const minimum = spec.minReplicas;
  if (minimum !== undefined && minimum < 1)
    place.at('minReplicas').invalid(minimum, 'must be greater than or equal to 1');
  const maximum = spec.maxReplicas ?? 0;
  if (maximum === 0) place.at('maxReplicas').required('must be set and greater than 0');
  else if (maximum < 0) place.at('maxReplicas').invalid(maximum, 'must be greater than or equal to 1');
  if (minimum !== undefined && maximum < minimum)
    place.at('maxReplicas').invalid(maximum, 'must be greater than or equal to `minReplicas`');
  const target: Partial<CrossVersionObjectReference> = spec.scaleTargetRef ?? {};
  validateReference(target, place.at('scaleTargetRef'), targetProblem(target, old));
  const metrics = spec.metrics ?? [];
  for (const [index, metric] of metrics.entries()) validateMetric(metric, place.at('metrics').item(index));
  if (minimum === 0 && !metrics.some(({ type }) => type === 'Object' || type === 'External'))
    place
      .at('metrics')
      .forbidden('must specify at least one Object or External metric to support scaling to zero replicas');
  validateRules(spec.behavior?.scaleUp, place.at('behavior').at('scaleUp'));
  validateRules(spec.behavior?.scaleDown, place.at('behavior').at('scaleDown'));
}

/** Validates an update of the status. */
export function validateHorizontalPodAutoscalerStatus(
  { status }: HorizontalPodAutoscaler,
  _old: HorizontalPodAutoscaler,
  field: Field,
): void {
  for (const name of ['currentReplicas', 'desiredReplicas'] as const)
    validateNonnegative(status?.[name], field.at('status').at(name));
}

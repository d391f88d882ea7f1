/** Validation of disruption budgets, priority classes and runtime classes. Upstream: apis/{policy,scheduling,node}/validation. */
import type { Field } from '../field-error.ts';
import type { RuntimeClass } from '../gen/node-v1.ts';
import type { PodDisruptionBudget } from '../gen/policy-v1.ts';
import type { PriorityClass } from '../gen/scheduling-v1.ts';
import { FIELD_IMMUTABLE_TEXT, validateLabels } from '../meta-validation.ts';
import { isDns1123Label } from '../names.ts';
import {
  validateChoice,
  validateConditions,
  validateImmutable,
  validateNonnegative,
  validateNonnegativeIntOrPercent,
  validateNotAboveHundredPercent,
  validateOptionalChoice,
  validateTolerations,
} from './common.ts';
import { internalForm } from './internal-form.ts';
import { validateResourceRequirements } from './pod-resources.ts';
import { validateLabelSelector } from './selectors.ts';

export function validatePodDisruptionBudget(budget: PodDisruptionBudget, field: Field): void {
  const place = field.at('spec');
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy } = budget.spec ?? {};
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    place.invalid(
      internalForm(budget.spec!, 'policy.v1.PodDisruptionBudgetSpec'),
      'minAvailable and maxUnavailable cannot be both set',
    );
  }
  for (const [name, value] of [
    ['minAvailable', minAvailable],
    ['maxUnavailable', maxUnavailable],
  ] as const) {
    if (value === undefined) continue;
    validateNonnegativeIntOrPercent(value, place.at(name));
    validateNotAboveHundredPercent(value, place.at(name));
  }
  validateLabelSelector(selector, place.at('selector'));
  validateOptionalChoice(
    unhealthyPodEvictionPolicy,
    ['AlwaysAllow', 'IfHealthyBudget'],
    place.at('unhealthyPodEvictionPolicy'),
  );
}

/** Validates the counts that the controller writes. */
export function validatePodDisruptionBudgetStatus({ status = {} }: PodDisruptionBudget, field: Field): void {
  const place = field.at('status');
  validateConditions(status.conditions, place.at('conditions'));
  for (const name of ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'] as const)
    validateNonnegative(status[name], place.at(name));
}

/** The highest value that users may set; system classes have higher ones. */
const HIGHEST_USER_PRIORITY = 1000000000;
const SYSTEM_CLASSES: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2000000000,
  'system-node-critical': 2000001000,
};

export function validatePriorityClass(priorityClass: PriorityClass, field: Field): void {
  const name = priorityClass.metadata.name ?? '';
  const value = priorityClass.value ?? 0;
  if (name.startsWith('system-')) {
    if (SYSTEM_CLASSES[name] !== value || priorityClass.globalDefault === true) {
      field
        .at('metadata')
        .at('name')
        .forbidden(
          "priority class names with 'system-' prefix are reserved for system use only. error: " +
            systemProblem(name, value),
        );
    }
  } else if (value > HIGHEST_USER_PRIORITY) {
    field.at('value').forbidden(`maximum allowed value of a user defined priority is ${HIGHEST_USER_PRIORITY}`);
  }
  if (priorityClass.preemptionPolicy !== undefined)
    validateChoice(priorityClass.preemptionPolicy, ['PreemptLowerPriority', 'Never'], field.at('preemptionPolicy'));
}

function systemProblem(name: string, value: number): string {
  const systemValue = SYSTEM_CLASSES[name];
  if (systemValue === undefined) return `${name} is not a known system priority class`;
  const [part, wanted] = systemValue === value ? ['globalDefault', false] : ['value', systemValue];
  return `${part} of ${name} PriorityClass must be ${wanted}`;
}

/** Value and preemption policy of a priority class are immutable. */
export function validatePriorityClassUpdate(priorityClass: PriorityClass, old: PriorityClass, field: Field): void {
  if ((priorityClass.value ?? 0) !== (old.value ?? 0)) field.at('value').forbidden('may not be changed in an update.');
  if (priorityClass.preemptionPolicy !== old.preemptionPolicy)
    field.at('preemptionPolicy').invalid(priorityClass.preemptionPolicy, FIELD_IMMUTABLE_TEXT);
}

export function validateRuntimeClass({ handler = '', overhead, scheduling }: RuntimeClass, field: Field): void {
  if (handler === '') field.at('handler').required();
  else field.at('handler').complain(handler, isDns1123Label(handler));
  // As upstream, errors call the overhead's amounts limits.
  if (overhead !== undefined)
    validateResourceRequirements({ limits: overhead.podFixed }, new Set(), field.at('overhead'));
  if (scheduling === undefined) return;
  const place = field.at('scheduling');
  validateLabels(scheduling.nodeSelector, place.at('nodeSelector'));
  validateTolerations(scheduling.tolerations, place.at('tolerations'));
  const seen = new Set<string>();
  for (const [index, toleration] of (scheduling.tolerations ?? []).entries()) {
    const key = JSON.stringify([toleration.key, toleration.operator, toleration.value, toleration.effect]);
    if (seen.has(key)) place.at('tolerations').item(index).duplicate(internalForm(toleration, 'core.v1.Toleration'));
    seen.add(key);
  }
}

/** The handler of a runtime class is immutable. */
export function validateRuntimeClassUpdate(runtimeClass: RuntimeClass, old: RuntimeClass, field: Field): void {
  validateRuntimeClass(runtimeClass, field);
  validateImmutable(runtimeClass.handler, old.handler, field.at('handler'));
}

/** Leases, disruption budgets, priority and runtime classes. Upstream: apis/{coordination,policy,scheduling,node}/validation. */
import type { Field } from '../field-error.ts';
import type { Lease } from '../gen/coordination-v1.ts';
import type { RuntimeClass } from '../gen/node-v1.ts';
import type { PodDisruptionBudget } from '../gen/policy-v1.ts';
import type { PriorityClass } from '../gen/scheduling-v1.ts';
import { FIELD_IMMUTABLE_TEXT, validateLabels } from '../meta-validation.ts';
import { isDns1123Label } from '../names.ts';
import {
  validateImmutable,
  validateLabelSelector,
  validateNonnegative,
  validateNonnegativeIntOrPercent,
  validateNonnegativeQuantity,
  validateNotAboveHundredPercent,
  validateOptionalChoice,
  validatePositive,
  validateTolerations,
} from './common.ts';

export function validateLease(lease: Lease, field: Field): void {
  const spec = field.at('spec');
  validatePositive(lease.spec?.leaseDurationSeconds, spec.at('leaseDurationSeconds'));
  validateNonnegative(lease.spec?.leaseTransitions, spec.at('leaseTransitions'));
  if (
    lease.spec?.strategy === undefined &&
    lease.spec?.preferredHolder !== undefined &&
    lease.spec.preferredHolder !== ''
  ) {
    spec.at('preferredHolder').forbidden('may only be specified if `strategy` is defined');
  }
}

export function validatePodDisruptionBudget(budget: PodDisruptionBudget, field: Field): void {
  const place = field.at('spec');
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy } = budget.spec ?? {};
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    place.invalid(budget.spec, 'minAvailable and maxUnavailable cannot be both set');
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

/** Highest value users may give; above are the system's classes. */
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
  validateOptionalChoice(
    priorityClass.preemptionPolicy,
    ['Never', 'PreemptLowerPriority'],
    field.at('preemptionPolicy'),
  );
}

function systemProblem(name: string, value: number): string {
  const known = SYSTEM_CLASSES[name];
  if (known === undefined) return `${name} is not a known system priority class`;
  return known === value ? `globalDefault of ${name} must be false` : `value of ${name} must be ${known}`;
}

/** Value and policy of a priority class never change. */
export function validatePriorityClassUpdate(priorityClass: PriorityClass, old: PriorityClass, field: Field): void {
  if ((priorityClass.value ?? 0) !== (old.value ?? 0)) field.at('value').forbidden('may not be changed in an update.');
  if (priorityClass.preemptionPolicy !== old.preemptionPolicy)
    field.at('preemptionPolicy').invalid(priorityClass.preemptionPolicy, FIELD_IMMUTABLE_TEXT);
}

export function validateRuntimeClass(runtimeClass: RuntimeClass, field: Field): void {
  field.at('handler').complain(runtimeClass.handler, isDns1123Label(runtimeClass.handler ?? ''));
  for (const [name, quantity] of Object.entries(runtimeClass.overhead?.podFixed ?? {})) {
    validateNonnegativeQuantity(quantity, field.at('overhead').at('podFixed').key(name));
  }
  validateLabels(runtimeClass.scheduling?.nodeSelector, field.at('scheduling').at('nodeSelector'));
  validateTolerations(runtimeClass.scheduling?.tolerations, field.at('scheduling').at('tolerations'));
}

/** The handler of a runtime class never changes. */
export function validateRuntimeClassUpdate(runtimeClass: RuntimeClass, old: RuntimeClass, field: Field): void {
  validateImmutable(runtimeClass.handler, old.handler, field.at('handler'));
}

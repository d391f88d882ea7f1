/**
 * Validation of workloads and pod groups. Upstream: apis/scheduling/validation, and tags in api/scheduling/v1alpha2. Their
 * feature gates cannot be enabled here, so fields behind gates are dropped first, as upstream drops them.
 */
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type {
  PodGroup,
  PodGroupSchedulingPolicy,
  PodGroupSpec,
  PodGroupTemplate,
  PodGroupTemplateReference,
  TypedLocalObjectReference,
  Workload,
} from '../gen/scheduling-v1alpha2.ts';
import { isLongName, isPathSegmentName, isShortName } from '../names.ts';
import { validateConditions } from './common.ts';
import {
  hasForbiddenChange,
  validateMinimum,
  validateNamedItems,
  validateOptionalText,
  validateRequiredText,
  validateUnion,
} from './declared.ts';

const MAX_TEMPLATES = 8;

/** Drops fields of gates that are off: WorkloadAwarePreemption, TopologyAwareWorkloadScheduling, DRAWorkloadResourceClaims. */
export function dropGatedFields(template: Partial<PodGroupSpec & PodGroupTemplate>): void {
  delete template.disruptionMode;
  delete template.priority;
  delete template.priorityClassName;
  delete template.resourceClaims;
  delete template.schedulingConstraints;
}

/** Validates a workload; `old` is set on updates. */
export function validateWorkload({ spec }: Workload, field: Field, old?: Workload): void {
  const at = field.at('spec');
  const before = old?.spec;
  if (before !== undefined && deepEqual(spec, before)) return;
  const reference = at.at('controllerRef');
  if (before === undefined || !hasForbiddenChange(spec?.controllerRef, before.controllerRef, reference))
    validateController(spec?.controllerRef, before?.controllerRef, reference);
  const templates = spec?.podGroupTemplates ?? [];
  const list = at.at('podGroupTemplates');
  if (before !== undefined && deepEqual(templates, before.podGroupTemplates ?? [])) return;
  if (templates.length === 0) list.required();
  if (!validateNamedItems(templates, MAX_TEMPLATES, list)) return;
  if (before !== undefined) hasForbiddenChange(templates, before.podGroupTemplates, list);
  else for (const [index, template] of templates.entries()) validateTemplate(template, list.item(index));
}

function validateController(
  reference: TypedLocalObjectReference | undefined,
  old: TypedLocalObjectReference | undefined,
  field: Field,
): void {
  if (reference === undefined || deepEqual(reference, old)) return;
  if (reference.apiGroup !== '') validateOptionalText(reference.apiGroup, isLongName, field.at('apiGroup'));
  validateRequiredText(reference.kind, isPathSegmentName, field.at('kind'));
  validateRequiredText(reference.name, isPathSegmentName, field.at('name'));
}

function validateTemplate({ name, schedulingPolicy }: PodGroupTemplate, field: Field): void {
  validateRequiredText(name, isShortName, field.at('name'));
  validatePolicy(schedulingPolicy, field.at('schedulingPolicy'));
}

function validatePolicy(policy: PodGroupSchedulingPolicy | undefined, field: Field): void {
  validateUnion(policy ?? {}, ['basic', 'gang'], field);
  if (policy?.gang === undefined) return;
  const at = field.at('gang').at('minCount');
  if ((policy.gang.minCount ?? 0) === 0) at.required();
  else validateMinimum(policy.gang.minCount, 1, at);
}

/** Validates a pod group; `old` is set on updates. */
export function validatePodGroup({ spec }: PodGroup, field: Field, old?: PodGroup): void {
  const at = field.at('spec');
  if (old !== undefined) {
    for (const part of ['podGroupTemplateRef', 'schedulingPolicy'] as const)
      hasForbiddenChange(spec?.[part], old.spec?.[part], at.at(part));
    return;
  }
  if (spec?.podGroupTemplateRef !== undefined)
    validateTemplateReference(spec.podGroupTemplateRef, at.at('podGroupTemplateRef'));
  validatePolicy(spec?.schedulingPolicy, at.at('schedulingPolicy'));
}

function validateTemplateReference(reference: PodGroupTemplateReference, field: Field): void {
  validateUnion(reference, ['workload'], field);
  if (reference.workload === undefined) return;
  const at = field.at('workload');
  validateRequiredText(reference.workload.workloadName, isLongName, at.at('workloadName'));
  validateRequiredText(reference.workload.podGroupTemplateName, isShortName, at.at('podGroupTemplateName'));
}

export function validatePodGroupStatus({ status }: PodGroup, field: Field): void {
  validateConditions(status?.conditions, field.at('status').at('conditions'));
}

/** Templates of pods. Upstream: apis/core/validation ValidatePodTemplateSpec. */
import type { Field } from '../field-error.ts';
import type { PodTemplateSpec } from '../gen/core-v1.ts';
import { validateAnnotations, validateLabels } from '../meta-validation.ts';
import { validatePodSpec } from './pod-spec.ts';

/** A template, as part of a workload. */
export function validatePodTemplateSpec(template: PodTemplateSpec, field: Field): void {
  validateLabels(template.metadata?.labels, field.at('metadata').at('labels'));
  validateAnnotations(template.metadata?.annotations, field.at('metadata').at('annotations'));
  validatePodSpec(template.spec ?? { containers: [] }, '', field.at('spec'));
  if ((template.spec?.ephemeralContainers ?? []).length > 0) {
    field.at('spec').at('ephemeralContainers').forbidden('ephemeral containers not allowed in pod template');
  }
}

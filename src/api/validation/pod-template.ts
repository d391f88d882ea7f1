/** Validation of pod templates. Upstream: apis/core/validation ValidatePodTemplateSpec. */
import type { Steps } from '../../base/steps.ts';
import type { Field } from '../field-error.ts';
import type { PodTemplateSpec } from '../gen/core-v1.ts';
import { validateAnnotations, validateLabels } from '../meta-validation.ts';
import { validatePodAnnotations } from './pod-annotations.ts';
import { validatePodSpec } from './pod-spec.ts';

/** Validates a workload's template. As upstream, paths of labels and annotations lack `metadata`. */
export function* validatePodTemplateSpec(template: PodTemplateSpec, field: Field): Steps<void> {
  validateLabels(template.metadata?.labels, field.at('labels'));
  validateAnnotations(template.metadata?.annotations, field.at('annotations'));
  validatePodAnnotations(template.metadata?.annotations, template.spec ?? { containers: [] }, {
    field: field.at('annotations'),
  });
  yield* validatePodSpec(template.spec ?? { containers: [] }, undefined, field.at('spec'));
  if ((template.spec?.ephemeralContainers ?? []).length > 0) {
    field.at('spec').at('ephemeralContainers').forbidden('ephemeral containers not allowed in pod template');
  }
}

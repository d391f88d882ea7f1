/** Validation of admission policy bindings. Upstream: apis/admissionregistration/validation. */
import type { Field } from '../field-error.ts';
import type {
  MutatingAdmissionPolicyBinding,
  MutatingAdmissionPolicyBindingSpec,
  ParamRef,
  ValidatingAdmissionPolicyBinding,
} from '../gen/admissionregistration-v1.ts';
import { isDns1123Subdomain, isPathSegmentName } from '../names.ts';
import { validateMatch, validateMutatedOperations } from './admission-rules.ts';
import { validateChoice, validateOptionalChoice } from './common.ts';
import { validateLabelSelector } from './selectors.ts';

const EITHER_TEXT = 'name and selector are mutually exclusive';

function validateParamRef({ name = '', selector, parameterNotFoundAction }: Partial<ParamRef>, field: Field): void {
  if (name !== '') {
    field.at('name').complain(name, isPathSegmentName(name));
    if (selector !== undefined) field.at('name').forbidden(EITHER_TEXT);
  }
  validateLabelSelector(selector, field.at('selector'));
  if (selector !== undefined && name !== '') field.at('selector').forbidden(EITHER_TEXT);
  if (selector === undefined && name === '') field.required('one of name or selector must be specified');
  validateChoice(parameterNotFoundAction, ['Deny', 'Allow'], field.at('parameterNotFoundAction'));
}

function validateSpec(spec: Partial<MutatingAdmissionPolicyBindingSpec>, field: Field): void {
  const { policyName = '', paramRef, matchResources } = spec;
  if (policyName === '') field.at('policyName').required();
  else field.at('policyName').complain(policyName, isDns1123Subdomain(policyName));
  if (paramRef !== undefined) validateParamRef(paramRef, field.at('paramRef'));
  validateMatch(matchResources, field.at('matchResources'));
}

export function validateAdmissionPolicyBinding(binding: ValidatingAdmissionPolicyBinding, field: Field): void {
  const spec = field.at('spec');
  validateSpec(binding.spec ?? {}, spec);
  const actions = binding.spec?.validationActions ?? [];
  const place = spec.at('validationActions');
  const seen = new Set<string>();
  for (const [index, action] of actions.entries()) {
    validateOptionalChoice(action, ['Audit', 'Deny', 'Warn'], place.item(index));
    if (seen.has(action)) place.item(index).duplicate(action);
    seen.add(action);
  }
  if (seen.has('Deny') && seen.has('Warn'))
    place.invalid(
      actions,
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    );
  if (actions.length === 0) place.required('at least one validation action is required');
}

export function validateMutatingAdmissionPolicyBinding(binding: MutatingAdmissionPolicyBinding, field: Field): void {
  const spec = field.at('spec');
  validateSpec(binding.spec ?? {}, spec);
  validateMutatedOperations(binding.spec?.matchResources, spec.at('matchResources'));
}

// Validation of label selectors and node selectors. Upstream: metav1/validation (ValidateLabelSelector), core/validation
// (ValidateNodeSelector).
import type { Field } from '../field-error.ts';
import type { NodeSelector, NodeSelectorRequirement, NodeSelectorTerm } from '../gen/core-v1.ts';
import type { LabelSelector, LabelSelectorRequirement } from '../gen/meta-v1.ts';
import { validateLabelName, validateLabels } from '../meta-validation.ts';
import { isDns1123Subdomain, isLabelValue } from '../names.ts';

/** Validates a LabelSelector object. */
export function validateLabelSelector(selector: LabelSelector | undefined, field: Field): void {
  if (selector === undefined) return;
  validateLabels(selector.matchLabels, field.at('matchLabels'));
  for (const [index, expression] of (selector.matchExpressions ?? []).entries()) {
    validateSelectorRequirement(expression, field.at('matchExpressions').item(index));
  }
}

/** Validates the operators that label selectors and node selectors share. */
function validateSetOperator({ operator, values = [] }: LabelSelectorRequirement, field: Field): void {
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0) field.at('values').required("must be specified when `operator` is 'In' or 'NotIn'");
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0)
        field.at('values').forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
      break;
    default:
      field.at('operator').invalid(operator, 'not a valid selector operator');
  }
}

function validateSelectorRequirement(requirement: LabelSelectorRequirement, field: Field): void {
  const values = requirement.values ?? [];
  validateSetOperator(requirement, field);
  validateLabelName(requirement.key, field.at('key'));
  for (const [index, value] of values.entries()) field.at('values').item(index).complain(value, isLabelValue(value));
}

/** Whether the selector has neither labels nor expressions. */
export function isEmptySelector(selector: LabelSelector | undefined): boolean {
  return Object.keys(selector?.matchLabels ?? {}).length + (selector?.matchExpressions ?? []).length === 0;
}

/** Validates a node selector, which must have at least one term. */
export function validateNodeSelector(selector: NodeSelector, field: Field): void {
  const terms = field.at('nodeSelectorTerms');
  if ((selector.nodeSelectorTerms ?? []).length === 0) terms.required('must have at least one node selector term');
  for (const [index, term] of (selector.nodeSelectorTerms ?? []).entries())
    validateNodeSelectorTerm(term, terms.item(index));
}

/** `anyLabelValue`: values need not be valid label values, as upstream permits in preferred terms. */
export function validateNodeSelectorTerm(
  term: NodeSelectorTerm,
  field: Field,
  { anyLabelValue = false }: { anyLabelValue?: boolean } = {},
): void {
  for (const [index, requirement] of (term.matchExpressions ?? []).entries()) {
    const place = field.at('matchExpressions').item(index);
    validateNodeRequirement(requirement, place);
    if (!anyLabelValue) validateLabelValues(requirement.values ?? [], place.at('values'));
  }
  for (const [index, requirement] of (term.matchFields ?? []).entries())
    validateFieldRequirement(requirement, field.at('matchFields').item(index));
}

function validateNodeRequirement(requirement: NodeSelectorRequirement, field: Field): void {
  if (requirement.operator === 'Gt' || requirement.operator === 'Lt') {
    if (requirement.values?.length !== 1)
      field.at('values').required("must be specified single value when `operator` is 'Lt' or 'Gt'");
  } else validateSetOperator(requirement, field);
  validateLabelName(requirement.key, field.at('key'));
}

function validateLabelValues(values: readonly string[], field: Field): void {
  for (const [index, value] of values.entries()) {
    const complaints = isLabelValue(value);
    const place = field.item(index);
    if (complaints.length > 0 && !place.wasThere(value)) place.complain(value, complaints);
  }
}

function validateFieldRequirement(requirement: NodeSelectorRequirement, field: Field): void {
  const values = requirement.values ?? [];
  if (requirement.operator !== 'In' && requirement.operator !== 'NotIn')
    field.at('operator').invalid(requirement.operator, 'not a valid selector operator');
  else if (values.length !== 1)
    field.at('values').required("must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
  if (requirement.key !== 'metadata.name') field.at('key').invalid(requirement.key, 'not a valid field selector key');
  else
    for (const [index, value] of values.entries())
      field.at('values').item(index).complain(value, isDns1123Subdomain(value));
}

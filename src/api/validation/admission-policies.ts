/**
 * Validation of admission policies; admission-expressions.ts checks their expressions. Upstream:
 * apis/admissionregistration/validation.
 */
import type { Steps } from '../../base/steps.ts';
import { compileTogetherSteps } from '../cel/compile.ts';
import type { Field } from '../field-error.ts';
import type {
  AuditAnnotation,
  Mutation,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicySpec,
  ParamKind,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicySpec,
  Validation,
  Variable,
} from '../gen/admissionregistration-v1.ts';
import { isDns1035Label, isDns1123Subdomain, isQualifiedName } from '../names.ts';
import { mutationExpressions, policyExpressions, type PolicyExpressions } from './admission-expressions.ts';
import { validateMatch, validateMutatedOperations } from './admission-rules.ts';
import { validateMatchConditions } from './admission-webhooks.ts';
import { validateChoice, validateOptionalChoice } from './common.ts';

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** CEL's keywords, including the reserved ones. */
const RESERVED = new Set(
  'as break const continue else false for function if import in let loop namespace null package return true var void while'.split(
    ' ',
  ),
);
const MAX_ANNOTATIONS = 20;
const MAX_EXPRESSION_BYTES = 5 * 1024;
const REASONS = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];

function validateParamKind({ apiVersion = '', kind = '' }: ParamKind, field: Field): void {
  validateApiVersion(apiVersion, field.at('apiVersion'));
  const problems = isDns1035Label(kind.toLowerCase());
  if (kind === '') field.at('kind').required();
  else if (problems.length > 0)
    field.at('kind').invalid(kind, `may have mixed case, but should otherwise match: ${problems.join(',')}`);
}

function validateApiVersion(text: string, field: Field): void {
  if (text === '') return field.required();
  const parts = text.split('/');
  if (parts.length > 2) return field.invalid(text, `unexpected GroupVersion string: ${text}`);
  const [version = '', group = ''] = parts.toReversed();
  const [inGroup, inVersion] = [isDns1123Subdomain(group), isDns1035Label(version)];
  if (group !== '' && inGroup.length > 0) field.invalid(group, inGroup.join(','));
  if (version === '') field.invalid(text, 'version must be specified');
  else if (inVersion.length > 0) field.invalid(version, inVersion.join(','));
}

type CommonSpec = Pick<
  ValidatingAdmissionPolicySpec,
  'failurePolicy' | 'matchConstraints' | 'matchConditions' | 'paramKind'
>;

/** `mutates`: as upstream, the operations are checked too. */
function* validateCommon(spec: CommonSpec, mutates: boolean, field: Field): Steps<void> {
  const { failurePolicy, paramKind, matchConstraints, matchConditions = [] } = spec;
  if (failurePolicy === undefined) field.at('failurePolicy').required();
  validateOptionalChoice(failurePolicy, ['Fail', 'Ignore'], field.at('failurePolicy'));
  if (paramKind !== undefined) validateParamKind(paramKind, field.at('paramKind'));
  const place = field.at('matchConstraints');
  if (matchConstraints === undefined) place.required();
  else {
    validateMatch(matchConstraints, place);
    if ((matchConstraints.resourceRules ?? []).length === 0) place.at('resourceRules').required();
    if (mutates) validateMutatedOperations(matchConstraints, place);
  }
  yield* validateMatchConditions(matchConditions, paramKind !== undefined, field.at('matchConditions'));
}

function validateVariables(
  variables: readonly Variable[],
  expressions: PolicyExpressions | undefined,
  field: Field,
): void {
  for (const [index, { name = '', expression = '' }] of variables.entries()) {
    const place = field.item(index);
    if (name.trim() === '') place.at('name').required('name is not specified');
    else if (!IDENTIFIER.test(name) || RESERVED.has(name))
      place.at('name').invalid(name, 'must be a valid CEL identifier');
    if (expression.trim() === '') place.at('expression').required('expression is not specified');
    else expressions?.variable(index, place.at('expression'));
  }
}

function validateMessage({ message = '' }: Validation, field: Field): void {
  if (message !== '' && message.trim() === '') field.invalid(message, 'must be non-empty if specified');
  else if (message.trim().includes('\n')) field.invalid(message, 'must not contain line breaks');
}

function validateValidation(validation: Validation, expressions: PolicyExpressions | undefined, field: Field): void {
  const { expression = '', messageExpression = '', reason } = validation;
  if (expression.trim() === '') field.at('expression').required('expression is not specified');
  else expressions?.validation(expression, field.at('expression'));
  const place = field.at('messageExpression');
  if (messageExpression.trim() !== '') expressions?.message(messageExpression, place);
  else if (messageExpression !== '') place.invalid(messageExpression, 'must be non-empty if specified');
  validateMessage(validation, field.at('message'));
  validateOptionalChoice(reason, REASONS, field.at('reason'));
}

function validateAnnotation(annotation: AuditAnnotation, policy: string, field: Field): void {
  const { key = '', valueExpression = '' } = annotation;
  const whole = `${policy}/${key}`;
  if (policy === '') field.at('key').invalid(key, 'requires metadata.name be non-empty');
  else field.at('key').complain(whole, isQualifiedName(whole));
  const place = field.at('valueExpression');
  if (valueExpression.trim() === '') place.required('valueExpression is not specified');
  else if (Buffer.byteLength(valueExpression.trim()) > MAX_EXPRESSION_BYTES)
    place.required(`must not exceed ${MAX_EXPRESSION_BYTES} bytes in length`);
}

function validateAnnotations(
  annotations: readonly AuditAnnotation[],
  [policy, expressions]: readonly [string, PolicyExpressions | undefined],
  field: Field,
): void {
  if (annotations.length > MAX_ANNOTATIONS)
    field.invalid(annotations, `must not have more than ${MAX_ANNOTATIONS} auditAnnotations`);
  const keys = new Set<string>();
  for (const [index, annotation] of annotations.entries()) {
    const place = field.item(index);
    const before = place.errors.length;
    validateAnnotation(annotation, policy, place);
    const { key = '', valueExpression = '' } = annotation;
    const isWhole = place.errors.slice(before).every(({ field: at }) => !at.endsWith('.valueExpression'));
    if (isWhole) expressions?.annotation(valueExpression, place.at('valueExpression'));
    if (keys.has(key)) place.at('key').duplicate(key);
    keys.add(key);
  }
}

function* validateValidatingSpec(spec: ValidatingAdmissionPolicySpec, policy: string, field: Field): Steps<void> {
  yield* validateCommon(spec, false, field);
  const expressions = yield* policyExpressions(spec, field);
  validateVariables(spec.variables ?? [], expressions, field.at('variables'));
  const { validations = [], auditAnnotations = [] } = spec;
  if (validations.length === 0 && auditAnnotations.length === 0)
    for (const name of ['validations', 'auditAnnotations'])
      field.at(name).required('validations or auditAnnotations must contain at least one item');
  for (const [index, validation] of validations.entries()) {
    validateValidation(validation, expressions, field.at('validations').item(index));
    yield;
  }
  validateAnnotations(auditAnnotations, [policy, expressions], field.at('auditAnnotations'));
}

/** Compiles one expression per step. */
export function validateValidatingAdmissionPolicy(
  { metadata, spec }: ValidatingAdmissionPolicy,
  field: Field,
): Steps<void> {
  return compileTogetherSteps(validateValidatingSpec(spec ?? {}, metadata.name ?? '', field.at('spec')));
}

function validateMutation(mutation: Mutation, expressions: PolicyExpressions | undefined, field: Field): void {
  const { patchType } = mutation;
  validateChoice(patchType, ['ApplyConfiguration', 'JSONPatch'], field.at('patchType'));
  if (patchType !== 'ApplyConfiguration' && patchType !== 'JSONPatch') return;
  const [own, other] =
    patchType === 'JSONPatch'
      ? (['jsonPatch', 'applyConfiguration'] as const)
      : (['applyConfiguration', 'jsonPatch'] as const);
  const place = field.at(own);
  const expression = mutation[own]?.expression ?? '';
  if (mutation[own] === undefined) place.required(`must be specified when patchType is ${patchType}`);
  else if (expression.trim() === '') place.at('expression').required();
  else expressions?.[own](expression.trim(), place.at('expression'));
  if (mutation[other] !== undefined)
    field.at(other).invalid(`{${other}}`, `must not be specified when patchType is ${patchType}`);
}

function* validateMutatingSpec(spec: MutatingAdmissionPolicySpec, field: Field): Steps<void> {
  yield* validateCommon(spec, true, field);
  const expressions = yield* mutationExpressions(spec, field);
  validateVariables(spec.variables ?? [], expressions, field.at('variables'));
  const { mutations = [] } = spec;
  if (mutations.length === 0) field.at('mutations').required('mutations must contain at least one item');
  for (const [index, mutation] of mutations.entries()) {
    validateMutation(mutation, expressions, field.at('mutations').item(index));
    yield;
  }
  validateChoice(spec.reinvocationPolicy, ['IfNeeded', 'Never'], field.at('reinvocationPolicy'));
}

/** Compiles one expression per step. */
export function validateMutatingAdmissionPolicy({ spec }: MutatingAdmissionPolicy, field: Field): Steps<void> {
  return compileTogetherSteps(validateMutatingSpec(spec ?? {}, field.at('spec')));
}

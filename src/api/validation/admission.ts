/** Webhook configurations and admission policies; their expressions: admission-expressions.ts. Upstream: apis/admissionregistration/validation. */
import { compileTogether } from '../cel/compile.ts';
import type { Field } from '../field-error.ts';
import type {
  AuditAnnotation,
  MatchCondition,
  MatchResources,
  Mutation,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhookConfiguration,
  RuleWithOperations,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
  Validation,
  Variable,
} from '../gen/admissionregistration-v1.ts';
import { isDns1035Label, isDns1123Subdomain, isQualifiedName } from '../names.ts';
import { validateLabelSelector, validateOptionalChoice } from './common.ts';
import {
  validateConditionExpressions,
  validateMutationExpressions,
  validatePolicyExpressions,
} from './admission-expressions.ts';
import { validateWebhookClient } from './webhook-client.ts';

const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const SCOPES = ['*', 'Cluster', 'Namespaced'];
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
const MAX_EXPRESSION_BYTES = 5 * 1024;
const KNOWN_REVIEW_VERSIONS = ['v1', 'v1beta1'];

function validateRule(rule: RuleWithOperations, field: Field): void {
  const lists = [
    ['apiGroups', rule.apiGroups],
    ['apiVersions', rule.apiVersions],
    ['resources', rule.resources],
    ['operations', rule.operations],
  ] as const;
  for (const [name, values = []] of lists) {
    if (values.length === 0) field.at(name).required();
    if (name !== 'resources' && values.length > 1 && values.includes('*'))
      field
        .at(name)
        .invalid(
          values,
          "if '*' is present, must not specify other " +
            (name === 'operations' ? 'operations' : name === 'apiGroups' ? 'API groups' : 'API versions'),
        );
  }
  for (const [index, operation] of (rule.operations ?? []).entries())
    validateOptionalChoice(operation, OPERATIONS, field.at('operations').item(index));
  for (const [index, version] of (rule.apiVersions ?? []).entries())
    if (version === '') field.at('apiVersions').item(index).required();
  for (const [index, resource] of (rule.resources ?? []).entries())
    if (resource === '') field.at('resources').item(index).required();
  validateOptionalChoice(rule.scope, SCOPES, field.at('scope'));
}

function validateMatchConditions(
  conditions: readonly MatchCondition[] | undefined,
  field: Field,
  hasParams: boolean,
): void {
  const names = new Set<string>();
  if ((conditions ?? []).length > 64) field.tooMany(conditions!.length, 64);
  for (const [index, condition] of (conditions ?? []).entries()) {
    if ((condition.expression ?? '').trim() === '') field.item(index).at('expression').required();
    if ((condition.name ?? '') === '') field.item(index).at('name').required();
    else field.item(index).at('name').complain(condition.name, isQualifiedName(condition.name));
    if (names.has(condition.name)) field.item(index).at('name').duplicate(condition.name);
    names.add(condition.name);
  }
  validateConditionExpressions(conditions, field, { hasParams, hasAuthorizer: true });
}

function validateWebhook(webhook: ValidatingWebhook & { reinvocationPolicy?: string }, field: Field): void {
  field.at('name').complain(webhook.name, fullyQualified(webhook.name ?? ''));
  for (const [index, rule] of (webhook.rules ?? []).entries()) validateRule(rule, field.at('rules').item(index));
  validateOptionalChoice(webhook.failurePolicy, ['Fail', 'Ignore'], field.at('failurePolicy'));
  validateOptionalChoice(webhook.matchPolicy, ['Equivalent', 'Exact'], field.at('matchPolicy'));
  if (webhook.sideEffects === undefined || webhook.sideEffects === '')
    field.at('sideEffects').required('must specify one of None, NoneOnDryRun');
  else validateOptionalChoice(webhook.sideEffects, ['None', 'NoneOnDryRun'], field.at('sideEffects'));
  const timeout = webhook.timeoutSeconds;
  if (timeout !== undefined && (timeout > 30 || timeout < 1))
    field.at('timeoutSeconds').invalid(timeout, 'the timeout value must be between 1 and 30 seconds');
  validateOptionalChoice(webhook.reinvocationPolicy, ['IfNeeded', 'Never'], field.at('reinvocationPolicy'));
  validateLabelSelector(webhook.namespaceSelector, field.at('namespaceSelector'));
  validateLabelSelector(webhook.objectSelector, field.at('objectSelector'));
  validateReviewVersions(webhook.admissionReviewVersions ?? [], field.at('admissionReviewVersions'));
  validateWebhookClient(webhook.clientConfig ?? {}, field.at('clientConfig'));
  validateMatchConditions(webhook.matchConditions, field.at('matchConditions'), false);
}

function fullyQualified(name: string): string[] {
  const complaints = isDns1123Subdomain(name);
  if (complaints.length === 0 && name.split('.').length < 3)
    return ['should be a domain with at least three segments separated by dots'];
  return complaints;
}

function validateReviewVersions(versions: readonly string[], field: Field): void {
  if (versions.length === 0) return field.required(`must specify one of ${KNOWN_REVIEW_VERSIONS.join(', ')}`);
  const seen = new Set<string>();
  for (const [index, version] of versions.entries()) {
    if (seen.has(version)) field.item(index).invalid(version, 'duplicate version');
    seen.add(version);
    field.item(index).complain(version, isDns1035Label(version));
  }
  if (!versions.some((version) => KNOWN_REVIEW_VERSIONS.includes(version)))
    field.invalid(versions, `must include at least one of ${KNOWN_REVIEW_VERSIONS.join(', ')}`);
}

function validateWebhooks(
  webhooks: readonly (ValidatingWebhook & { reinvocationPolicy?: string })[] | undefined,
  field: Field,
): void {
  const names = new Set<string>();
  compileTogether(() => {
    for (const [index, webhook] of (webhooks ?? []).entries()) {
      validateWebhook(webhook, field.item(index));
      if (names.has(webhook.name)) field.item(index).at('name').duplicate(webhook.name);
      names.add(webhook.name);
    }
  });
}

export function validateValidatingWebhookConfiguration(
  configuration: ValidatingWebhookConfiguration,
  field: Field,
): void {
  validateWebhooks(configuration.webhooks, field.at('webhooks'));
}

export function validateMutatingWebhookConfiguration(configuration: MutatingWebhookConfiguration, field: Field): void {
  validateWebhooks(configuration.webhooks, field.at('webhooks'));
}

function validateMatch(match: MatchResources | undefined, field: Field): void {
  if (match === undefined) return;
  validateOptionalChoice(match.matchPolicy, ['Equivalent', 'Exact'], field.at('matchPolicy'));
  validateLabelSelector(match.namespaceSelector, field.at('namespaceSelector'));
  validateLabelSelector(match.objectSelector, field.at('objectSelector'));
  for (const [index, rule] of (match.resourceRules ?? []).entries())
    validateRule(rule, field.at('resourceRules').item(index));
  for (const [index, rule] of (match.excludeResourceRules ?? []).entries())
    validateRule(rule, field.at('excludeResourceRules').item(index));
}

interface PolicySpec {
  failurePolicy?: string;
  matchConstraints?: MatchResources;
  matchConditions?: MatchCondition[];
  paramKind?: { apiVersion?: string; kind?: string };
  variables?: Variable[];
}

function validatePolicySpec(spec: PolicySpec, field: Field): void {
  validateOptionalChoice(spec.failurePolicy, ['Fail', 'Ignore'], field.at('failurePolicy'));
  if (spec.paramKind !== undefined) {
    if ((spec.paramKind.apiVersion ?? '') === '') field.at('paramKind').at('apiVersion').required();
    if ((spec.paramKind.kind ?? '') === '') field.at('paramKind').at('kind').required();
  }
  if (spec.matchConstraints === undefined) field.at('matchConstraints').required();
  else {
    validateMatch(spec.matchConstraints, field.at('matchConstraints'));
    if ((spec.matchConstraints.resourceRules ?? []).length === 0)
      field.at('matchConstraints').at('resourceRules').required();
  }
  validateMatchConditions(spec.matchConditions, field.at('matchConditions'), spec.paramKind !== undefined);
  const names = new Set<string>();
  for (const [index, variable] of (spec.variables ?? []).entries()) {
    const name = field.at('variables').item(index).at('name');
    if ((variable.name ?? '') === '') name.required();
    else if (!IDENTIFIER.test(variable.name)) name.invalid(variable.name, 'name is not a valid CEL identifier');
    else if (names.has(variable.name)) name.duplicate(variable.name);
    names.add(variable.name);
    if ((variable.expression ?? '').trim() === '')
      field.at('variables').item(index).at('expression').required('expression is not specified');
  }
}

function validateMessage({ expression, message, messageExpression }: Validation, field: Field): void {
  if ((message ?? '') !== '' && message!.trim() === '')
    field.at('message').invalid(message, 'message must be non-empty if specified');
  else if ((message ?? '').trim().includes('\n'))
    field.at('message').invalid(message, 'message must not contain line breaks');
  else if ((message ?? '') === '' && (expression ?? '').trim().includes('\n') && (messageExpression ?? '') === '')
    field.at('message').required('message must be specified if expression contains line breaks');
}

function validateAuditAnnotation({ key, valueExpression }: AuditAnnotation, policy: string, field: Field): void {
  if ((key ?? '').trim() === '') field.at('key').required('key is not specified');
  else field.at('key').complain(key, isQualifiedName(`${policy}/${key}`));
  if ((valueExpression ?? '').trim() === '') field.at('valueExpression').required('valueExpression is not specified');
  else if (Buffer.byteLength(valueExpression) > MAX_EXPRESSION_BYTES)
    field.at('valueExpression').tooLong(MAX_EXPRESSION_BYTES);
}

export function validateValidatingAdmissionPolicy(policy: ValidatingAdmissionPolicy, field: Field): void {
  const spec = field.at('spec');
  validatePolicySpec(policy.spec ?? {}, spec);
  const { validations = [], auditAnnotations = [] } = policy.spec ?? {};
  if (validations.length === 0 && auditAnnotations.length === 0) {
    spec.at('validations').required('validations or auditAnnotations must be set to a non-empty value');
  }
  if (policy.spec !== undefined) validatePolicyExpressions(policy.spec, spec);
  for (const [index, validation] of validations.entries()) {
    const place = spec.at('validations').item(index);
    if ((validation.expression ?? '').trim() === '') place.at('expression').required('expression is not specified');
    validateMessage(validation, place);
    validateOptionalChoice(
      validation.reason,
      ['Forbidden', 'Invalid', 'RequestEntityTooLarge', 'Unauthorized'],
      place.at('reason'),
    );
  }
  for (const [index, annotation] of auditAnnotations.entries())
    validateAuditAnnotation(annotation, policy.metadata.name ?? '', spec.at('auditAnnotations').item(index));
}

function validateBindingSpec(
  spec: {
    policyName?: string;
    paramRef?: { name?: string; selector?: object; parameterNotFoundAction?: string };
    matchResources?: MatchResources;
  },
  field: Field,
): void {
  if ((spec.policyName ?? '') === '') field.at('policyName').required();
  else field.at('policyName').complain(spec.policyName, isDns1123Subdomain(spec.policyName!));
  const { paramRef } = spec;
  if (paramRef !== undefined) {
    const place = field.at('paramRef');
    if ((paramRef.name ?? '') !== '' && paramRef.selector !== undefined)
      place.at('name').forbidden('name and selector are mutually exclusive');
    if ((paramRef.name ?? '') === '' && paramRef.selector === undefined)
      place.required('one of name or selector must be specified');
    if (paramRef.parameterNotFoundAction === undefined) place.at('parameterNotFoundAction').required();
    validateOptionalChoice(paramRef.parameterNotFoundAction, ['Allow', 'Deny'], place.at('parameterNotFoundAction'));
  }
  validateMatch(spec.matchResources, field.at('matchResouces'));
}

export function validateAdmissionPolicyBinding(binding: ValidatingAdmissionPolicyBinding, field: Field): void {
  const spec = field.at('spec');
  validateBindingSpec(binding.spec ?? {}, spec);
  const actions = binding.spec?.validationActions ?? [];
  const place = spec.at('validationActions');
  if (actions.length === 0) place.required('at least one validation action is required');
  for (const action of actions) validateOptionalChoice(action, ['Audit', 'Deny', 'Warn'], place);
  if (actions.includes('Deny') && actions.includes('Warn'))
    place.invalid(
      actions,
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    );
}

function validateMutation({ patchType, jsonPatch, applyConfiguration }: Mutation, field: Field): void {
  if ((patchType ?? '') === '') return field.at('patchType').required();
  if (patchType !== 'ApplyConfiguration' && patchType !== 'JSONPatch')
    return field.at('patchType').notSupported(patchType, ['ApplyConfiguration', 'JSONPatch']);
  const [wanted, other] =
    patchType === 'JSONPatch' ? ['jsonPatch', 'applyConfiguration'] : ['applyConfiguration', 'jsonPatch'];
  const [given, unwanted] =
    patchType === 'JSONPatch' ? [jsonPatch, applyConfiguration] : [applyConfiguration, jsonPatch];
  if (unwanted !== undefined)
    field.at(other!).invalid(`{${other} settings}`, `${other} may not be set when patchType is ${patchType}`);
  if (given === undefined) field.at(wanted!).required(`must be specified when patchType is ${patchType}`);
  else if ((given.expression ?? '').trim() === '')
    field.at(wanted!).at('expression').required('expression is not specified');
}

export function validateMutatingAdmissionPolicy(policy: MutatingAdmissionPolicy, field: Field): void {
  const spec = field.at('spec');
  validatePolicySpec(policy.spec ?? {}, spec);
  if ((policy.spec?.mutations ?? []).length === 0)
    spec.at('mutations').required('mutations must contain at least one item');
  if (policy.spec !== undefined) validateMutationExpressions(policy.spec, spec);
  for (const [index, mutation] of (policy.spec?.mutations ?? []).entries())
    validateMutation(mutation, spec.at('mutations').item(index));
  if ((policy.spec?.reinvocationPolicy ?? '') === '') spec.at('reinvocationPolicy').required();
  else validateOptionalChoice(policy.spec?.reinvocationPolicy, ['IfNeeded', 'Never'], spec.at('reinvocationPolicy'));
}

export function validateMutatingAdmissionPolicyBinding(binding: MutatingAdmissionPolicyBinding, field: Field): void {
  validateBindingSpec(binding.spec ?? {}, field.at('spec'));
}

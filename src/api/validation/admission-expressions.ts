/** Expressions of webhooks and admission policies: that they compile. Upstream: validateCELCondition and its callers in apis/admissionregistration/validation. */
import { type AdmissionVariables, admissionEnvironment } from '../cel/admission-types.ts';
import { compile } from '../cel/compile.ts';
import type { CelEnvironment } from '../cel/environment.ts';
import { CompileError } from '../cel/texts.ts';
import { compileVariables } from '../cel/variables.ts';
import type { Field } from '../field-error.ts';
import type {
  MatchCondition,
  MutatingAdmissionPolicySpec,
  ValidatingAdmissionPolicySpec,
} from '../gen/admissionregistration-v1.ts';

/** Adds why an expression cannot be compiled; an empty one is somebody else's error. */
export function validateExpression(
  expression: string | undefined,
  field: Field,
  of: { readonly environment: CelEnvironment; readonly returnTypes: readonly string[] },
): void {
  if ((expression ?? '').trim() === '') return;
  try {
    compile(expression!.trim(), of);
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    field.invalid(expression, error.message);
  }
}

/** Match conditions; `field` is their list. */
export function validateConditionExpressions(
  conditions: readonly MatchCondition[] | undefined,
  field: Field,
  variables: AdmissionVariables,
): void {
  const environment = admissionEnvironment(variables);
  for (const [index, { expression }] of (conditions ?? []).entries())
    validateExpression(expression, field.item(index).at('expression'), { environment, returnTypes: ['bool'] });
}

/** What a policy's expressions are compiled in, with and without the authorizer; its variables are judged on the way. */
export function policyEnvironments(
  spec: Pick<ValidatingAdmissionPolicySpec | MutatingAdmissionPolicySpec, 'paramKind' | 'variables'>,
  field: Field,
): { readonly full: CelEnvironment; readonly messages: CelEnvironment } {
  const hasParams = spec.paramKind !== undefined;
  const full = admissionEnvironment({ hasParams, hasAuthorizer: true });
  const variables = compileVariables(spec.variables ?? [], full);
  for (const [index, { expression = '' }] of (spec.variables ?? []).entries()) {
    const error = variables.errors.get(index);
    if (error !== undefined && expression.trim() !== '')
      field.at('variables').item(index).at('expression').invalid(expression, error);
  }
  return {
    full: variables.declareIn(full),
    messages: variables.declareIn(admissionEnvironment({ hasParams, hasAuthorizer: false })),
  };
}

/** Validations and audit annotations of a validating policy. */
export function validatePolicyExpressions(spec: ValidatingAdmissionPolicySpec, field: Field): void {
  const { full, messages } = policyEnvironments(spec, field);
  for (const [index, { expression, messageExpression }] of (spec.validations ?? []).entries()) {
    const place = field.at('validations').item(index);
    validateExpression(expression, place.at('expression'), { environment: full, returnTypes: ['bool'] });
    validateExpression(messageExpression, place.at('messageExpression'), {
      environment: messages,
      returnTypes: ['string'],
    });
  }
  for (const [index, { valueExpression }] of (spec.auditAnnotations ?? []).entries()) {
    const place = field.at('auditAnnotations').item(index).at('valueExpression');
    validateExpression(valueExpression, place, { environment: full, returnTypes: ['string', 'null'] });
  }
}

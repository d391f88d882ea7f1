/** Expressions of webhooks and admission policies: that they compile. Upstream: validateCELCondition and its callers in apis/admissionregistration/validation. */
import { type AdmissionVariables, admissionEnvironment, mutationEnvironment } from '../cel/admission-types.ts';
import { compile, compileTogether } from '../cel/compile.ts';
import type { CelEnvironment } from '../cel/environment.ts';
import { JSON_PATCH_TYPE, OBJECT_TYPE } from '../cel/mutation-types.ts';
import { CompileError } from '../cel/texts.ts';
import { type CompiledVariables, compileVariables } from '../cel/variables.ts';
import type { Field } from '../field-error.ts';
import type {
  MatchCondition,
  MutatingAdmissionPolicySpec,
  ValidatingAdmissionPolicySpec,
  Variable,
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
  if ((conditions ?? []).length === 0) return;
  const environment = admissionEnvironment(variables);
  for (const [index, { expression }] of (conditions ?? []).entries())
    validateExpression(expression, field.item(index).at('expression'), { environment, returnTypes: ['bool'] });
}

/** Compiles the variables of a policy in its environment and adds why some cannot be. */
function validateVariables(
  variables: readonly Variable[],
  field: Field,
  environment: CelEnvironment,
): CompiledVariables {
  const compiled = compileVariables(variables, environment);
  for (const [index, { expression = '' }] of variables.entries()) {
    const error = compiled.errors.get(index);
    if (error !== undefined && expression.trim() !== '') field.item(index).at('expression').invalid(expression, error);
  }
  return compiled;
}

/**
 * Expressions of one policy, and characters of all of them. Known policies have some tens. Upstream, which has a thread for
 * each request, has no such bounds.
 */
const maxExpressions = 1000;
const maxExpressionsLength = 256 * 1024;

/** False, with an error, for a policy that would take too long to compile. */
function fitsBudget(expressions: readonly (string | undefined)[], field: Field): boolean {
  const length = expressions.reduce((sum, expression) => sum + (expression?.length ?? 0), 0);
  if (expressions.length > maxExpressions) field.forbidden(`must have at most ${maxExpressions} expressions`);
  else if (length > maxExpressionsLength)
    field.forbidden(`must have at most ${maxExpressionsLength} characters of expressions`);
  else return true;
  return false;
}

/** Validations and audit annotations of a validating policy. */
export function validatePolicyExpressions(spec: ValidatingAdmissionPolicySpec, field: Field): void {
  compileTogether(() => {
    checkPolicyExpressions(spec, field);
  });
}

function checkPolicyExpressions(spec: ValidatingAdmissionPolicySpec, field: Field): void {
  const { validations = [], auditAnnotations = [] } = spec;
  const expressions = [
    ...(spec.variables ?? []).map(({ expression }) => expression),
    ...validations.map(({ expression, messageExpression = '' }) => expression + messageExpression),
    ...auditAnnotations.map(({ valueExpression }) => valueExpression),
  ];
  if (!fitsBudget(expressions, field)) return;
  const hasParams = spec.paramKind !== undefined;
  const base = admissionEnvironment({ hasParams, hasAuthorizer: true });
  const variables = validateVariables(spec.variables ?? [], field.at('variables'), base);
  const full = variables.declareIn(base);
  const messages = variables.declareIn(admissionEnvironment({ hasParams, hasAuthorizer: false }));
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
    validateExpression(valueExpression, place, { environment: full, returnTypes: ['string', 'null_type'] });
  }
}

/** Variables, conditions and mutations of a mutating policy. */
export function validateMutationExpressions(spec: MutatingAdmissionPolicySpec, field: Field): void {
  compileTogether(() => {
    checkMutationExpressions(spec, field);
  });
}

function checkMutationExpressions(spec: MutatingAdmissionPolicySpec, field: Field): void {
  const expressions = [
    ...(spec.variables ?? []).map(({ expression }) => expression),
    ...(spec.mutations ?? []).map(
      ({ applyConfiguration, jsonPatch }) => `${applyConfiguration?.expression ?? ''}${jsonPatch?.expression ?? ''}`,
    ),
  ];
  if (!fitsBudget(expressions, field)) return;
  const base = mutationEnvironment(spec.paramKind !== undefined);
  const environment = validateVariables(spec.variables ?? [], field.at('variables'), base).declareIn(base);
  for (const [index, { applyConfiguration, jsonPatch }] of (spec.mutations ?? []).entries()) {
    const place = field.at('mutations').item(index);
    const [configuration, patch] = [place.at('applyConfiguration'), place.at('jsonPatch')];
    validateExpression(applyConfiguration?.expression, configuration.at('expression'), {
      environment,
      returnTypes: [OBJECT_TYPE],
    });
    validateExpression(jsonPatch?.expression, patch.at('expression'), {
      environment,
      returnTypes: [`list(${JSON_PATCH_TYPE})`],
    });
  }
}

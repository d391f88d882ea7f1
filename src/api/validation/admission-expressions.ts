/**
 * Compiles the expressions of webhooks and admission policies to validate them. Upstream: validateCELCondition and its callers in
 * apis/admissionregistration/validation.
 */
import type { Steps } from '../../base/steps.ts';
import { type AdmissionVariables, admissionEnvironment, mutationEnvironment } from '../cel/admission-types.ts';
import { compile } from '../cel/compile.ts';
import type { CelEnvironment } from '../cel/environment.ts';
import { JSON_PATCH_TYPE, OBJECT_TYPE } from '../cel/mutation-types.ts';
import { CompileError } from '../cel/texts.ts';
import { type CompiledVariables, compileVariablesSteps } from '../cel/variables.ts';
import type { Field } from '../field-error.ts';
import type {
  MutatingAdmissionPolicySpec,
  ValidatingAdmissionPolicySpec,
  Variable,
} from '../gen/admissionregistration-v1.ts';

/** Adds an error when an expression cannot be compiled. */
type Check = (expression: string, field: Field) => void;

function checkOf(environment: CelEnvironment, returnTypes: readonly string[]): Check {
  return (expression, field) => {
    try {
      compile(expression.trim(), { environment, returnTypes });
    } catch (error) {
      if (!(error instanceof CompileError)) throw error;
      field.invalid(expression, error.message);
    }
  };
}

/** The check of a match condition: it compiles with these variables, and its result is a bool. */
export function conditionExpressions(variables: AdmissionVariables): Check {
  return checkOf(admissionEnvironment(variables), ['bool']);
}

/** The checks of one policy's expressions; empty expressions are skipped. */
export interface PolicyExpressions {
  /** Checks a variable by its index. */
  variable(index: number, field: Field): void;
  readonly validation: Check;
  readonly message: Check;
  readonly annotation: Check;
  readonly applyConfiguration: Check;
  readonly jsonPatch: Check;
}

/**
 * The limits of one policy's expressions and of their characters. Known policies have some tens. Upstream has a thread for each
 * request and no such limits.
 */
const MAX_EXPRESSIONS = 1000;
const MAX_EXPRESSIONS_LENGTH = 256 * 1024;

/** Returns false and adds an error for a policy that would take too long to compile. */
function fitsBudget(expressions: readonly (string | undefined)[], field: Field): boolean {
  const length = expressions.reduce((sum, expression) => sum + (expression?.length ?? 0), 0);
  if (expressions.length > MAX_EXPRESSIONS) field.forbidden(`must have at most ${MAX_EXPRESSIONS} expressions`);
  else if (length > MAX_EXPRESSIONS_LENGTH)
    field.forbidden(`must have at most ${MAX_EXPRESSIONS_LENGTH} characters of expressions`);
  else return true;
  return false;
}

function* checksOf(
  variables: readonly Variable[],
  { base, forMessages }: { readonly base: CelEnvironment; readonly forMessages: CelEnvironment },
): Steps<PolicyExpressions> {
  const compiled: CompiledVariables = yield* compileVariablesSteps(variables, base);
  const full = compiled.declareIn(base);
  return {
    variable(index, field) {
      const error = compiled.errors.get(index);
      if (error !== undefined) field.invalid(variables[index]!.expression, error);
    },
    validation: checkOf(full, ['bool']),
    message: checkOf(compiled.declareIn(forMessages), ['string']),
    annotation: checkOf(full, ['string', 'null_type']),
    applyConfiguration: checkOf(full, [OBJECT_TYPE]),
    jsonPatch: checkOf(full, [`list(${JSON_PATCH_TYPE})`]),
  };
}

/** Compiles the expressions of a validating policy. Returns undefined and adds an error when that would take too long. */
export function* policyExpressions(
  spec: ValidatingAdmissionPolicySpec,
  field: Field,
): Steps<PolicyExpressions | undefined> {
  const { variables = [], validations = [], auditAnnotations = [] } = spec;
  const expressions = [
    ...variables.map(({ expression }) => expression),
    ...validations.map(({ expression, messageExpression = '' }) => expression + messageExpression),
    ...auditAnnotations.map(({ valueExpression }) => valueExpression),
  ];
  if (!fitsBudget(expressions, field)) return undefined;
  const hasParams = spec.paramKind !== undefined;
  const base = admissionEnvironment({ hasParams, hasAuthorizer: true });
  return yield* checksOf(variables, { base, forMessages: admissionEnvironment({ hasParams, hasAuthorizer: false }) });
}

export function* mutationExpressions(
  spec: MutatingAdmissionPolicySpec,
  field: Field,
): Steps<PolicyExpressions | undefined> {
  const { variables = [], mutations = [] } = spec;
  const expressions = [
    ...variables.map(({ expression }) => expression),
    ...mutations.map(
      ({ applyConfiguration, jsonPatch }) => `${applyConfiguration?.expression ?? ''}${jsonPatch?.expression ?? ''}`,
    ),
  ];
  if (!fitsBudget(expressions, field)) return undefined;
  const base = mutationEnvironment(spec.paramKind !== undefined);
  return yield* checksOf(variables, { base, forMessages: base });
}

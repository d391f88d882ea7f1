/** A ValidatingAdmissionPolicy compiled. Upstream: validating/plugin.go compilePolicy. */
import type {
  AuditAnnotation,
  ValidatingAdmissionPolicy,
  Validation,
} from '../../../api/gen/admissionregistration-v1.ts';
import { admissionEnvironment } from '../../../api/cel/admission-types.ts';
import { compile, type Program } from '../../../api/cel/compile.ts';
import type { CelEnvironment } from '../../../api/cel/environment.ts';
import { CompileError } from '../../../api/cel/texts.ts';
import { type CompiledVariables, compileVariables } from '../../../api/cel/variables.ts';
import { type CompiledCondition, compileConditions } from '../../admission-matching/match-conditions.ts';

/** A program, or the error why there is none. */
export type Compiled = Program | string;

export interface CompiledPolicy {
  readonly conditions: readonly CompiledCondition[];
  readonly variables: CompiledVariables;
  readonly validations: readonly {
    readonly validation: Validation;
    readonly program: Compiled;
    readonly message?: Compiled;
  }[];
  readonly auditAnnotations: readonly { readonly annotation: AuditAnnotation; readonly program: Compiled }[];
}

/**
 * Compiles the policy. An expression that cannot be compiled (stored by another version) is kept as an error text and
 * fails at every evaluation.
 */
export function compileValidatingPolicy({ spec = {} }: ValidatingAdmissionPolicy): CompiledPolicy {
  const hasParams = spec.paramKind !== undefined;
  const full = admissionEnvironment({ hasParams, hasAuthorizer: true });
  const variables = compileVariables(spec.variables ?? [], full);
  const environment = variables.declareIn(full);
  const messages = variables.declareIn(admissionEnvironment({ hasParams, hasAuthorizer: false }));
  return {
    conditions: compileConditions(spec.matchConditions ?? [], full),
    variables,
    validations: (spec.validations ?? []).map((validation) => ({
      validation,
      program: attempt(validation.expression, environment, ['bool']),
      message:
        (validation.messageExpression ?? '') === ''
          ? undefined
          : attempt(validation.messageExpression!, messages, ['string']),
    })),
    auditAnnotations: (spec.auditAnnotations ?? []).map((annotation) => ({
      annotation,
      program: attempt(annotation.valueExpression, environment, ['string', 'null', 'dyn']),
    })),
  };
}

function attempt(expression: string, environment: CelEnvironment, returnTypes: readonly string[]): Compiled {
  try {
    return compile(expression, { environment, returnTypes });
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    return `compilation error: ${error.message}`;
  }
}

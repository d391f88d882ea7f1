/** A MutatingAdmissionPolicy compiled. Upstream: mutating/compilation.go. */
import type { MutatingAdmissionPolicy, Mutation } from '../../../api/gen/admissionregistration-v1.ts';
import { mutationEnvironment } from '../../../api/cel/admission-types.ts';
import { compile } from '../../../api/cel/compile.ts';
import { JSON_PATCH_TYPE, OBJECT_TYPE } from '../../../api/cel/mutation-types.ts';
import { CompileError } from '../../../api/cel/texts.ts';
import { type CompiledVariables, compileVariables } from '../../../api/cel/variables.ts';
import { type CompiledCondition, compileConditions } from '../../admission-matching/match-conditions.ts';
import type { Compiled } from './compile-validating.ts';

export interface CompiledMutation {
  readonly kind: 'ApplyConfiguration' | 'JSONPatch';
  readonly program: Compiled;
}

export interface CompiledMutatingPolicy {
  readonly conditions: readonly CompiledCondition[];
  readonly variables: CompiledVariables;
  readonly mutations: readonly CompiledMutation[];
}

/**
 * Compiles the policy. An expression that cannot be compiled is kept as an error text and fails at every evaluation.
 */
export function compileMutatingPolicy({ spec = {} }: MutatingAdmissionPolicy): CompiledMutatingPolicy {
  const base = mutationEnvironment(spec.paramKind !== undefined);
  const variables = compileVariables(spec.variables ?? [], base);
  const environment = variables.declareIn(base);
  const attempt = (expression: string, type: string): Compiled => {
    try {
      return compile(expression, { environment, returnTypes: [type] });
    } catch (error) {
      if (!(error instanceof CompileError)) throw error;
      return `compilation error: ${error.message}`;
    }
  };
  return {
    conditions: compileConditions(spec.matchConditions ?? [], base),
    variables,
    mutations: (spec.mutations ?? []).map((mutation) => {
      const { kind, expression } = expressionOf(mutation);
      return { kind, program: attempt(expression, kind === 'JSONPatch' ? `list(${JSON_PATCH_TYPE})` : OBJECT_TYPE) };
    }),
  };
}

function expressionOf({ patchType, jsonPatch, applyConfiguration }: Mutation): {
  kind: CompiledMutation['kind'];
  expression: string;
} {
  if (patchType === 'JSONPatch') return { kind: 'JSONPatch', expression: jsonPatch?.expression ?? '' };
  return { kind: 'ApplyConfiguration', expression: applyConfiguration?.expression ?? '' };
}

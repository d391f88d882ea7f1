/**
 * Compiles and evaluates expressions. A program is checked once and may run any number of times, one at a time; running it
 * is synchronous and bounded by a meter. Upstream: apiserver/pkg/cel (compilation) and plugin/cel.
 */
import type { CelEnvironment } from './environment.ts';
import type { Decisions } from './libraries/authorizer.ts';
import { Meter, metered } from './meter.ts';
import { rewriteLiterals } from './object-literals.ts';
import { instrumentNode, prepareNode } from './prepare.ts';
import type { Node } from './syntax-tree.ts';
import { CompileError, compileErrorText, runtimeError } from './texts.ts';

/** Values of variables by name. */
export type Activation = Readonly<Record<string, unknown>>;

/** A compiled expression. */
export interface Program {
  readonly expression: string;
  /** Static type of the result. */
  readonly type: string;
  /** The checked syntax tree, for cost estimates. */
  readonly tree: Node;
  /** The value. Throws `RuntimeError`; its `costExceeded` tells that the meter's limit was passed. */
  run(activation: Activation, meter?: Meter): unknown;
}

/** What is asked of an expression. */
export interface CompileOptions {
  readonly environment: CelEnvironment;
  /** Types the result may have (`bool`, `string`, `null`); any when absent. */
  readonly returnTypes?: readonly string[];
}

/** More is refused before it is read. */
const MAX_CODE_POINTS = 100_000;

/** Compiles. Throws {@link CompileError}: `compilation failed: …` or `must evaluate to bool`. */
export function compile(expression: string, { environment, returnTypes }: CompileOptions): Program {
  const size = expression.length > MAX_CODE_POINTS ? [...expression].length : 0;
  if (size > MAX_CODE_POINTS) {
    const text = `expression code point size exceeds limit: size: ${size}, limit ${MAX_CODE_POINTS}`;
    throw new CompileError(`compilation failed: ERROR: <input>:-1:0: ${text}`);
  }
  const { parsed, type } = checked(expression, environment);
  if (returnTypes !== undefined && !returnTypes.includes(type)) throw new CompileError(returnTypeText(returnTypes));
  const tree = parsed.ast as unknown as Node;
  instrumentNode(tree);
  const evaluate = parsed as unknown as (activation: Activation) => unknown;
  return {
    expression,
    type,
    tree,
    run(activation, meter = new Meter()) {
      try {
        const value = metered(meter, () => evaluate(activation));
        // An expression may have gone on where a failed operand did not matter: over the limit it is all the same.
        if (meter.exceeded) meter.charge(0);
        return value;
      } catch (error) {
        throw runtimeError(error);
      }
    },
  };
}

function checked(expression: string, { environment, functions, hasLiterals }: CelEnvironment) {
  const source = hasLiterals ? rewriteLiterals(expression) : undefined;
  try {
    const parsed = environment.parse(source?.text ?? expression);
    prepareNode(parsed.ast as unknown as Node);
    const result = parsed.check();
    if (!result.valid) throw result.error;
    return { parsed, type: result.type ?? 'dyn' };
  } catch (error) {
    throw new CompileError(
      `compilation failed: ${compileErrorText(source ?? expression, error, { expression, functions })}`,
    );
  }
}

const SPELLING: Readonly<Record<string, string>> = { null: 'null_type' };

function returnTypeText(types: readonly string[]): string {
  const spelled = types.map((type) => SPELLING[type] ?? type);
  return types.length === 1 ? `must evaluate to ${spelled[0]}` : `must evaluate to one of [${spelled.join(' ')}]`;
}

/**
 * Runs an evaluation again until every authorization check it meets has an answer. `evaluate` must be pure: it may run
 * several times.
 */
export async function evaluateWithDecisions<T>(decisions: Decisions, evaluate: () => T): Promise<T> {
  // Each turn answers at least one check and expressions have finitely many, but their arguments may depend on answers.
  for (let turn = 0; turn < 100; turn++) {
    const outcome = attempt(evaluate);
    if (!decisions.isPending) {
      if ('error' in outcome) throw outcome.error;
      return outcome.value;
    }
    await decisions.settle();
  }
  throw runtimeError(new RangeError('authorization checks do not settle'));
}

function attempt<T>(evaluate: () => T): { readonly value: T } | { readonly error: unknown } {
  try {
    return { value: evaluate() };
  } catch (error) {
    return { error };
  }
}

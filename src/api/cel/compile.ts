/**
 * Compiles and evaluates expressions. A program is checked once and may run any number of times, one at a time; running it
 * is synchronous and bounded by a meter. Upstream: apiserver/pkg/cel (compilation) and plugin/cel.
 *
 * The language is done by hand, along cel-go. It replaces the library @marcbachmann/cel-js, which has other issue texts,
 * types and costs than upstream: users see these in conditions, and they decide what is refused.
 */
import type { Steps } from '../../base/steps.ts';
import type { CelEnvironment } from './environment.ts';
import type { Expr } from './language/expr.ts';
import { parse } from './language/parser.ts';
import { type Issue, Source } from './language/source.ts';
import type { Decisions } from './libraries/authorizer.ts';
import { bounded, boundedSteps, chargeWork, CostExceededError, Meter, metered, meteredWithin } from './meter.ts';
import type { Activation } from './runtime/env.ts';
import { type Planned, planExpression } from './runtime/plan.ts';
import { Failure, FunctionError } from './runtime/values.ts';
import { CompileError, RuntimeError, runtimeError } from './texts.ts';
import { checkTypes } from './types/checker.ts';
import { declaredText, type Type } from './types/type.ts';
import { validateTree } from './types/validate.ts';

export type { Activation } from './runtime/env.ts';

export interface Program {
  readonly expression: string;
  /** Static type of the result. */
  readonly type: Type;
  /** The checked syntax tree, for cost estimates. */
  readonly tree: Expr;
  /** The value. Throws `RuntimeError`; its `costExceeded` tells that the meter's limit was passed. */
  run(activation: Activation, meter?: Meter): unknown;
}

/** What is asked of an expression. */
interface CompileOptions {
  readonly environment: CelEnvironment;
  /** Types the result may have (`bool`, `string`, `null_type`); any when absent. */
  readonly returnTypes?: readonly string[];
}

/** More is refused before it is read. */
const MAX_CODE_POINTS = 100_000;
/** Reading a character. */
const WORK_OF_CHARACTER = 1;
/** Work that compiling one expression may take, some 50 ms: upstream has no limit. */
const COMPILE_LIMIT = 1_000_000;
/** The same for all expressions of one object. */
export const COMPILE_TOGETHER_LIMIT = 10_000_000;

/** Compiles. Throws {@link CompileError}: `compilation failed: …` or `must evaluate to bool but got int`. */
export function compile(expression: string, options: CompileOptions): Program {
  try {
    return meteredWithin(COMPILE_LIMIT, () => compiled(expression, options));
  } catch (error) {
    if (error instanceof CostExceededError) throw wholeProblem('compiling takes too much work', error);
    // Exhausted stacks, and what is beyond JavaScript's sizes.
    if (error instanceof RangeError) throw wholeProblem('nested too deeply', error);
    throw error;
  }
}

/** Compiles several expressions that together may take so much work. */
export function compileTogether<T>(run: () => T): T {
  return bounded(COMPILE_TOGETHER_LIMIT, run);
}

/** As `compileTogether`, for work in steps: the bound holds over all of them. */
export function compileTogetherSteps<T>(steps: Steps<T>): Steps<T> {
  return boundedSteps(COMPILE_TOGETHER_LIMIT, steps);
}

function compiled(expression: string, { environment, returnTypes }: CompileOptions): Program {
  const tree = checked(expression, environment);
  const type = tree.type!;
  const name = declaredText(type);
  if (returnTypes !== undefined && !returnTypes.includes(name))
    throw new CompileError(`${returnTypeText(returnTypes)} but got ${name}`);
  const { step, slots } = planned(tree, environment);
  return {
    expression,
    type,
    tree,
    run(activation, meter = new Meter()) {
      const value = evaluate(meter, () => step({ activation, slots: Array.from({ length: slots }) }));
      if (value instanceof Failure) throw new RuntimeError(value.message);
      return value;
    },
  };
}

function evaluate(meter: Meter, run: () => unknown): unknown {
  try {
    const value = metered(meter, run);
    // A nested evaluation's cost may have passed the limit last.
    if (meter.exceeded) meter.charge(0);
    return value;
  } catch (error) {
    throw runtimeError(error);
  }
}

function checked(expression: string, environment: CelEnvironment): Expr {
  const size = expression.length > MAX_CODE_POINTS ? [...expression].length : 0;
  if (size > MAX_CODE_POINTS) {
    throw wholeProblem(`expression code point size exceeds limit: size: ${size}, limit ${MAX_CODE_POINTS}`);
  }
  chargeWork(expression.length * WORK_OF_CHARACTER);
  const { expr, issues } = parse(expression, environment.hasBindings);
  refuse(expression, issues);
  refuse(expression, checkTypes(expr, environment));
  refuse(expression, validateTree(expr));
  return expr;
}

/** What is wrong with an expression as a whole. */
function wholeProblem(problem: string, cause?: Error): CompileError {
  return new CompileError(`compilation failed: ERROR: <input>:-1:0: ${problem}`, { cause });
}

function refuse(expression: string, issues: readonly Issue[]): void {
  if (issues.length === 0) return;
  throw new CompileError(`compilation failed: ${new Source(expression).issuesText(issues)}`);
}

function planned(tree: Expr, environment: CelEnvironment): Planned {
  try {
    return planExpression(tree, environment);
  } catch (error) {
    if (error instanceof FunctionError) throw new CompileError(`program instantiation failed: ${error.message}`);
    throw error;
  }
}

function returnTypeText(types: readonly string[]): string {
  return types.length === 1 ? `must evaluate to ${types[0]}` : `must evaluate to one of [${types.join(' ')}]`;
}

/**
 * Runs an evaluation again until every authorization check it meets has an answer. `evaluate` must be pure: it may run
 * several times.
 */
export async function evaluateWithDecisions<T>(decisions: Decisions, evaluateOnce: () => T | Promise<T>): Promise<T> {
  // Each turn answers at least one check and expressions have finitely many, but their arguments may depend on answers.
  for (let turn = 0; turn < 100; turn++) {
    const outcome = await attempt(evaluateOnce);
    if (!decisions.isPending) {
      if ('error' in outcome) throw outcome.error;
      return outcome.value;
    }
    await decisions.settle();
  }
  throw runtimeError(new RangeError('authorization checks do not settle'));
}

async function attempt<T>(
  evaluateOnce: () => T | Promise<T>,
): Promise<{ readonly value: T } | { readonly error: unknown }> {
  try {
    return { value: await evaluateOnce() };
  } catch (error) {
    return { error };
  }
}

/**
 * Compiles and evaluates expressions. A program is checked once and may run any number of times, one run at a time; a run is
 * synchronous and bounded by a meter. Upstream: apiserver/pkg/cel (compilation) and plugin/cel.
 * The language is implemented here, after cel-go. It replaces the library @marcbachmann/cel-js, whose issue texts, types and
 * costs differ from upstream's: users see these texts in conditions, and costs decide which expressions are refused.
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
  /** Evaluates the program. Throws `RuntimeError`; its `costExceeded` is set when the meter's limit was exceeded. */
  run(activation: Activation, meter?: Meter): unknown;
}

interface CompileOptions {
  readonly environment: CelEnvironment;
  /** Types the result may have (`bool`, `string`, `null_type`); any when absent. */
  readonly returnTypes?: readonly string[];
}

/** Longer expressions are refused before they are parsed. */
const MAX_CODE_POINTS = 100_000;
/** Units of work for reading one character. */
const WORK_OF_CHARACTER = 1;
/** The work that compiling one expression may take, some 50 ms. Upstream has no such limit. */
const COMPILE_LIMIT = 1_000_000;
/** The work that compiling all expressions of one object may take together. */
export const COMPILE_TOGETHER_LIMIT = 10_000_000;

/** Throws {@link CompileError}: `compilation failed: …` or `must evaluate to bool but got int`. */
export function compile(expression: string, options: CompileOptions): Program {
  try {
    return meteredWithin(COMPILE_LIMIT, () => compiled(expression, options));
  } catch (error) {
    if (error instanceof CostExceededError) throw wholeProblem('compiling takes too much work', error);
    // A RangeError is an exhausted stack, or a value beyond JavaScript's size limits.
    if (error instanceof RangeError) throw wholeProblem('nested too deeply', error);
    throw error;
  }
}

/** Compiles several expressions whose compilations share one work limit. */
export function compileTogether<T>(run: () => T): T {
  return bounded(COMPILE_TOGETHER_LIMIT, run);
}

/** The same as `compileTogether`, for work in steps: the limit holds over all steps. */
export function compileTogetherSteps<T>(steps: Steps<T>): Steps<T> {
  return boundedSteps(COMPILE_TOGETHER_LIMIT, steps);
}

function compiled(expression: string, { environment, returnTypes }: CompileOptions): Program {
  const tree = parseAndCheck(expression, environment);
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
    // The last charge of a nested evaluation may have passed the limit without throwing.
    if (meter.exceeded) meter.charge(0);
    return value;
  } catch (error) {
    throw runtimeError(error);
  }
}

function parseAndCheck(expression: string, environment: CelEnvironment): Expr {
  const size = expression.length > MAX_CODE_POINTS ? [...expression].length : 0;
  if (size > MAX_CODE_POINTS) {
    throw wholeProblem(`expression code point size exceeds limit: size: ${size}, limit ${MAX_CODE_POINTS}`);
  }
  chargeWork(expression.length * WORK_OF_CHARACTER);
  const { expr, issues } = parse(expression, environment.hasBindings);
  throwIssues(expression, issues);
  throwIssues(expression, checkTypes(expr, environment));
  throwIssues(expression, validateTree(expr));
  return expr;
}

/** The error of an expression as a whole. */
function wholeProblem(problem: string, cause?: Error): CompileError {
  return new CompileError(`compilation failed: ERROR: <input>:-1:0: ${problem}`, { cause });
}

function throwIssues(expression: string, issues: readonly Issue[]): void {
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
 * Repeats an evaluation until every authorization check in it has an answer. `evaluateOnce` must be pure: it may run several
 * times.
 */
export async function evaluateWithDecisions<T>(decisions: Decisions, evaluateOnce: () => T | Promise<T>): Promise<T> {
  // Each repetition answers at least one check. The arguments of a check may depend on earlier answers, so the count is bounded.
  for (let turn = 0; turn < 100; turn++) {
    const outcome = await tryEvaluate(evaluateOnce);
    if (!decisions.isPending) {
      if ('error' in outcome) throw outcome.error;
      return outcome.value;
    }
    await decisions.settle();
  }
  throw runtimeError(new RangeError('authorization checks do not settle'));
}

async function tryEvaluate<T>(
  evaluateOnce: () => T | Promise<T>,
): Promise<{ readonly value: T } | { readonly error: unknown }> {
  try {
    return { value: await evaluateOnce() };
  } catch (error) {
    return { error };
  }
}

/**
 * Named expressions that others read as `variables.name`: compiled in order, each with access to those before it, evaluated at
 * the first read and at most once. Upstream: apiserver/pkg/admission/plugin/cel/composition.go.
 */
import { allSteps, type Steps } from '../../base/steps.ts';
import { type Activation, compile, type Program } from './compile.ts';
import { type CelEnvironment, extendEnvironment } from './environment.ts';
import { charge, chargeWork, leftNow, Meter, PER_CALL_LIMIT } from './meter.ts';
import { CompileError, RuntimeError } from './texts.ts';
import { Failure, FIELDS, type StructLike } from './runtime/values.ts';
import { DYN_TYPE, structTypeOf, type Type } from './types/type.ts';

interface NamedExpression {
  readonly name?: string;
  readonly expression?: string;
}

export interface CompiledVariables {
  /** Declares `variables`, with a field per variable, in an environment. */
  declareIn(environment: CelEnvironment): CelEnvironment;
  /** The value of `variables` for one evaluation. */
  bind(activation: Activation): object;
  /** Compile errors by the position of the variable. */
  readonly errors: ReadonlyMap<number, string>;
}

const TYPE = 'kubernetes.variables';

/** The values of one evaluation. */
class VariableValues implements StructLike {
  readonly #activation: Activation;
  readonly #programs: ReadonlyMap<string, Program>;
  readonly #values = new Map<string, unknown>();

  constructor(activation: Activation, programs: ReadonlyMap<string, Program>) {
    this.#activation = { ...activation, variables: this };
    this.#programs = programs;
  }

  get [FIELDS](): StructLike[typeof FIELDS] {
    return this;
  }

  get(name: string): unknown {
    const program = this.#programs.get(name);
    if (program === undefined || this.#values.has(name)) return this.#values.get(name);
    const value = this.#evaluate(name, program);
    this.#values.set(name, value);
    return value;
  }

  keys(): Iterable<string> {
    return this.#programs.keys();
  }

  get size(): number {
    return this.#programs.size;
  }

  #evaluate(name: string, program: Program): unknown {
    const meter = new Meter(Math.min(PER_CALL_LIMIT, leftNow()));
    try {
      return program.run(this.#activation, meter);
    } catch (error) {
      if (!(error instanceof RuntimeError)) throw error;
      const text = `composited variable ${JSON.stringify(name)} fails to evaluate: ${error.message}`;
      if (error.costExceeded) throw new RuntimeError(text, true);
      return new Failure(text);
    } finally {
      charge(meter.cost);
      chargeWork(meter.work);
    }
  }
}

/** Compiles variables in an environment without `variables`. */
export function compileVariables(
  expressions: readonly NamedExpression[],
  environment: CelEnvironment,
): CompiledVariables {
  return allSteps(compileVariablesSteps(expressions, environment));
}

/** `compileVariables` with a step for each variable. */
export function* compileVariablesSteps(
  expressions: readonly NamedExpression[],
  environment: CelEnvironment,
): Steps<CompiledVariables> {
  const programs = new Map<string, Program>();
  const types = new Map<string, Type>();
  const errors = new Map<number, string>();
  // The environment of a variable declares those before it.
  const declareIn = (target: CelEnvironment): CelEnvironment =>
    extendEnvironment(target, { variables: structTypeOf(TYPE, (name) => types.get(name)) });
  const before = declareIn(environment);
  for (const [index, { name = '', expression = '' }] of expressions.entries()) {
    try {
      const program = compile(expression, { environment: before });
      types.set(name, program.type);
      programs.set(name, program);
    } catch (error) {
      if (!(error instanceof CompileError)) throw error;
      errors.set(index, error.message);
      if (!types.has(name)) types.set(name, DYN_TYPE);
    }
    yield;
  }
  return { declareIn, bind: (activation) => new VariableValues(activation, programs), errors };
}

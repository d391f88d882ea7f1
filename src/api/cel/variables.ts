/**
 * Named expressions that others refer to as `variables.name`: compiled in order, each seeing those before it, evaluated when
 * first read and at most once. Upstream: apiserver/pkg/admission/plugin/cel/composition.go.
 */
import { type Activation, compile, type Program } from './compile.ts';
import { type CelEnvironment, type DeclaredType, extendEnvironment } from './environment.ts';
import { charge, Meter } from './meter.ts';
import { CompileError, RuntimeError } from './texts.ts';
import { UNSPEAKABLE } from './value-types.ts';

/** One named expression. */
export interface NamedExpression {
  readonly name?: string;
  readonly expression?: string;
}

/** What compiling variables brought. */
export interface CompiledVariables {
  /** Declares `variables` with a field per variable in an environment, for expressions that may use them. */
  declareIn(environment: CelEnvironment): CelEnvironment;
  /** The value of `variables` for one evaluation. */
  bind(activation: Activation): object;
  /** By position, why a variable could not be compiled. */
  readonly errors: ReadonlyMap<number, string>;
}

const TYPE = 'kubernetes.variables';

/** Holds the values of one evaluation. */
class VariableValues {
  readonly #activation: Activation;
  readonly #values = new Map<string, unknown>();

  constructor(activation: Activation) {
    this.#activation = { ...activation, variables: this };
  }

  /** Static, for the prototype belongs to the variables. */
  static read(values: VariableValues, name: string, program: Program): unknown {
    if (values.#values.has(name)) return values.#values.get(name);
    const meter = new Meter();
    let value: unknown;
    try {
      value = program.run(values.#activation, meter);
    } catch (error) {
      if (!(error instanceof RuntimeError)) throw error;
      throw new RuntimeError(
        `composited variable ${JSON.stringify(name)} fails to evaluate: ${error.message}`,
        error.costExceeded,
      );
    } finally {
      charge(meter.cost);
    }
    values.#values.set(name, value);
    return value;
  }
}

/** Compiles variables in an environment without `variables`. */
export function compileVariables(
  expressions: readonly NamedExpression[],
  environment: CelEnvironment,
): CompiledVariables {
  const ctor = class extends VariableValues {};
  const fields: Record<string, string> = {};
  const errors = new Map<number, string>();
  const declareIn = (target: CelEnvironment): CelEnvironment => {
    const type: DeclaredType = { name: TYPE, ctor, fields: { ...fields } };
    return extendEnvironment(target, { variables: TYPE }, [type]);
  };
  for (const [index, { name = '', expression = '' }] of expressions.entries()) {
    try {
      const program = compile(expression, { environment: declareIn(environment) });
      if (name === UNSPEAKABLE) continue;
      fields[name] = fieldType(program.type);
      Object.defineProperty(ctor.prototype, name, {
        configurable: true,
        get(this: VariableValues) {
          return VariableValues.read(this, name, program);
        },
      });
    } catch (error) {
      if (!(error instanceof CompileError)) throw error;
      errors.set(index, error.message);
      fields[name] ??= 'dyn';
    }
  }
  return { declareIn, bind: (activation) => new ctor(activation), errors };
}

/** Literals without content have types that only the checker can hold. */
function fieldType(type: string): string {
  return /\b[A-Z]\b/.test(type) ? 'dyn' : type;
}

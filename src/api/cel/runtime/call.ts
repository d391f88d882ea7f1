/**
 * Calls: evaluation of arguments, choice of the overload, and price. Upstream: evalUnary and its kin in cel-go
 * interpreter/interpretable.go, common/decls.
 */
import type { Call } from '../language/expr.ts';
import { charge } from '../meter.ts';
import type { FunctionDeclaration, Overload } from '../types/declarations.ts';
import { callPrice, type PricedCall } from './call-price.ts';
import { type Env, guarded, type Plan, type Step } from './env.ts';
import { ConstantSet } from './constant-set.ts';
import { fitsType, typeOf } from './type-of.ts';
import { Failure, FunctionError, NO_OVERLOAD, Optional, Uint } from './values.ts';

/** A call with its planned operands, the receiver first. */
export interface CallSite {
  readonly call: Call;
  readonly declared: FunctionDeclaration;
  readonly plans: readonly Plan[];
}

const CONVERSIONS: ReadonlySet<string> = new Set(
  'bool bytes double dyn duration int string timestamp type uint'.split(' '),
);

/** Plans a call. Throws {@link FunctionError} where a constant cannot be converted. */
export function planCall(site: CallSite): Plan {
  const { call, plans } = site;
  const steps = plans.map(({ step }) => step);
  switch (call.name) {
    case '_&&_':
      return { step: logic(steps, false) };
    case '_||_':
      return { step: logic(steps, true) };
    case '@not_strictly_false':
      return { step: notStrictlyFalse(steps[0]!) };
    case 'or':
    case 'orValue':
      return { step: orElse(steps[0]!, steps[1]!, call.name) };
    case '@in':
      return isConstantSet(site)
        ? { step: membership(steps[0]!, new ConstantSet(plans[1]!.constant!.value as unknown[])) }
        : planGeneralCall(site);
    default:
      return CONVERSIONS.has(call.name) && plans[0]?.constant !== undefined
        ? planConversion(site)
        : planGeneralCall(site);
  }
}

/** Evaluation ends with the first operand that decides; a failure counts only when no operand decides. */
function logic(steps: readonly Step[], decides: boolean): Step {
  return (env) => {
    let failure: Failure | undefined;
    for (const step of steps) {
      const value = step(env);
      if (value === decides) return decides;
      if (value === !decides) continue;
      failure ??= value instanceof Failure ? value : new Failure(NO_OVERLOAD);
    }
    return failure ?? !decides;
  };
}

function notStrictlyFalse(step: Step): Step {
  return (env) => {
    const value = step(env);
    charge(1);
    return typeof value === 'boolean' ? value : true;
  };
}

function orElse(left: Step, right: Step, name: 'or' | 'orValue'): Step {
  return (env) => {
    const value = left(env);
    if (!(value instanceof Optional)) return value;
    if (!value.hasValue) return right(env);
    return name === 'or' ? value : value.content;
  };
}

/** Upstream turns constant lists of simple values into sets, in which lookups are free. */
function isConstantSet({ plans, call }: CallSite): boolean {
  const list = plans[1]!.constant?.value;
  if (!Array.isArray(list) || call.overloads?.length !== 1) return false;
  return list.every((item) => item !== null && (typeof item !== 'object' || item instanceof Uint));
}

function membership(step: Step, set: ConstantSet): Step {
  return (env) => {
    const value = step(env);
    return value instanceof Failure ? value : set.has(value);
  };
}

/** The conversion of a constant, computed once when the program is planned. */
function planConversion(site: CallSite): Plan {
  const value = invoke(site, [site.plans[0]!.constant!.value]);
  if (value instanceof Failure) throw new FunctionError(value.message);
  return { step: () => value, constant: { value } };
}

function planGeneralCall(site: CallSite): Plan {
  const priced: PricedCall = {
    name: site.call.name,
    signature: site.call.overloads?.length === 1 ? site.call.overloads[0]!.signature : '',
  };
  const price = callPrice(priced);
  const run = invoker(site);
  const { plans } = site;
  // As upstream's calls of three or more operands, and calls whose constant pattern it compiles beforehand.
  const endsEarly = plans.length > 2 || hasConstantPattern(site);
  return {
    step(env) {
      const args = argsOf(env, plans, endsEarly);
      if (args instanceof Failure) return args;
      // A price that does not depend on the result is charged before the work is done.
      if (price.before !== undefined) charge(price.before(args));
      const failure = args.find((arg) => arg instanceof Failure);
      const value = failure ?? run(args);
      if (price.after !== undefined) charge(price.after(value));
      return value;
    },
  };
}

/** The values of the operands. With `endsEarly` the first failure ends the call without a charge. */
function argsOf(env: Env, plans: readonly Plan[], endsEarly: boolean): unknown[] | Failure {
  const args: unknown[] = [];
  for (const { step } of plans) {
    const value = step(env);
    if (value instanceof Failure && endsEarly) return value;
    args.push(value);
  }
  return args;
}

function invoke(site: CallSite, args: unknown[]): unknown {
  return invoker(site)(args);
}

function invoker(site: CallSite): (args: unknown[]) => unknown {
  const { call, declared } = site;
  const isTerse = TERSE.has(call.name) || hasConstantPattern(site);
  const { common } = declared;
  if (common !== undefined) return (args) => guarded(() => common(...args));
  const candidates = call.overloads!.length === 1 ? call.overloads! : declared.overloads;
  return (args) => {
    const overload = candidates.find((each) => matchesOverload(each, args));
    if (overload !== undefined) return guarded(() => overload.handler(...args));
    const types = args.map((arg) => typeOf(arg).name).join(', ');
    return new Failure(isTerse ? NO_OVERLOAD : `${NO_OVERLOAD}: ${call.name}(${types})`);
  };
}

/** Functions whose error for a missing overload omits the argument types. */
const TERSE: ReadonlySet<string> = new Set(['contains', 'startsWith', 'endsWith', 'matches']);

const PATTERNS: ReadonlySet<string> = new Set(['matches', 'find', 'findAll']);

function hasConstantPattern({ call, plans }: CallSite): boolean {
  return PATTERNS.has(call.name) && plans[1]?.constant !== undefined;
}

/** Whether the arguments have the overload's types. This is checked at every call: values of type dyn can have any. */
function matchesOverload({ args }: Overload, values: readonly unknown[]): boolean {
  return args.length === values.length && args.every((type, index) => fitsType(values[index], type));
}

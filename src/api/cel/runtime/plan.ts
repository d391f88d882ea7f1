/**
 * Plans checked trees: closures that evaluate nodes and charge upstream's prices. Upstream: cel-go interpreter/planner.go and
 * interpretable.go.
 */
import type { Call, Expr, Fold, Ident, ListExpr, MapExpr, Select, StructExpr } from '../language/expr.ts';
import { charge } from '../meter.ts';
import { type Attribute, ChoiceAttribute, type Qualifier, RootAttribute } from './attribute.ts';
import { type CallSite, planCall } from './call.ts';
import type { Env, Plan, Step } from './env.ts';
import { foldLoop } from './fold.ts';
import { valueText } from './value-text.ts';
import { deleteEntry, Failure, Optional, setEntry } from './values.ts';
import type { CelEnvironment } from '../environment.ts';

/** A program: its step and the number of slots it needs. */
export interface Planned {
  readonly step: Step;
  readonly slots: number;
}

/** Plans a checked tree. Throws `FunctionError` where a constant cannot be converted. */
export function planExpression(root: Expr, environment: CelEnvironment): Planned {
  const planner = new Planner(environment);
  const { step } = planner.plan(root);
  return { step, slots: planner.slots };
}

const constant = (value: unknown): Plan => ({ step: () => value, constant: { value } });

/** The cost of constructing a list, map or object. */
const LIST_PRICE = 10;
const MAP_PRICE = 30;
const STRUCT_PRICE = 40;

/** The steps that count for starting a loop. */
const LOOP_STEPS = 10;

class Planner {
  slots = 0;
  /** The number of steps planned so far. */
  #steps = 0;
  readonly #environment: CelEnvironment;
  /** Slots of loop variables by name, those of inner loops first. */
  #names: readonly { readonly name: string; readonly slot: number }[] = [];

  constructor(environment: CelEnvironment) {
    this.#environment = environment;
  }

  plan(expr: Expr): Plan {
    this.#steps++;
    switch (expr.kind) {
      case 'literal':
        return constant(expr.value);
      case 'ident':
        return expr.constant === undefined ? this.#attribute(expr) : constant(expr.constant);
      case 'select':
        return expr.qualified === undefined ? this.#attribute(expr) : this.plan(expr.qualified);
      case 'call':
        return ATTRIBUTE_CALLS.has(expr.name) ? this.#attribute(expr) : this.#call(expr);
      case 'list':
        return this.#list(expr);
      case 'map':
        return this.#map(expr);
      case 'struct':
        return this.#struct(expr);
      case 'fold':
        return this.#fold(expr);
      case 'unspecified':
        throw new Error('malformed trees are not planned');
    }
  }

  #attribute(expr: Expr): Plan {
    const { resolve, price } = this.#attributeOf(expr)!;
    if (price === 0) return { step: resolve };
    return {
      step(env) {
        const value = resolve(env);
        charge(price);
        return value;
      },
    };
  }

  /** An expression as an attribute; undefined for expressions that are none. */
  #attributeOf(expr: Expr): Attribute | undefined {
    this.#steps++;
    switch (expr.kind) {
      case 'ident':
        return expr.constant === undefined ? new RootAttribute(this.#variable(expr)) : undefined;
      case 'select':
        return expr.qualified === undefined ? this.#select(expr) : this.#attributeOf(expr.qualified);
      case 'call':
        if (expr.name === '_?_:_') return this.#choice(expr.args);
        return ATTRIBUTE_CALLS.has(expr.name) ? this.#indexed(expr) : undefined;
      default:
        return undefined;
    }
  }

  /** An expression that is no attribute becomes the root value of one. */
  #rootOf(expr: Expr): Attribute {
    return this.#attributeOf(expr) ?? new RootAttribute(this.plan(expr).step);
  }

  #select({ operand, field, testOnly }: Select): Attribute {
    const attribute = this.#rootOf(operand);
    attribute.add({ key: () => field, optional: false, testOnly });
    if (!testOnly) return attribute;
    // In a presence test only the selections have a price.
    return { resolve: presence(attribute.resolve), price: 0, add: attribute.add.bind(attribute) };
  }

  #indexed({ name, args }: Call): Attribute {
    const [operand, index] = args as [Expr, Expr];
    const attribute = this.#rootOf(operand);
    attribute.add({ key: this.#key(index), optional: name !== '_[_]', testOnly: false });
    return attribute;
  }

  /** A variable that is used as a key has no price. */
  #key(index: Expr): Qualifier['key'] {
    return this.#attributeOf(index)?.resolve ?? this.plan(index).step;
  }

  #choice([condition, yes, no]: readonly Expr[]): Attribute {
    return new ChoiceAttribute(this.plan(condition!).step, this.#rootOf(yes!), this.#rootOf(no!));
  }

  #variable({ name }: Ident): Step {
    const local = this.#names.find((each) => each.name === name);
    if (local !== undefined) {
      const { slot } = local;
      return ({ slots }) => (typeof slots[slot] === 'function' ? (slots[slot] as () => unknown)() : slots[slot]);
    }
    return ({ activation }) => {
      const value = Object.hasOwn(activation, name) ? activation[name] : undefined;
      return value === undefined ? new Failure(`no such attribute(s): ${name}`) : value;
    };
  }

  #call(call: Call): Plan {
    const operands = call.target === undefined ? call.args : [call.target, ...call.args];
    const declared = this.#environment.functions.get(call.name)!;
    const site: CallSite = {
      call,
      declared,
      plans: operands.map((operand) => this.plan(operand)),
    };
    return planCall(site);
  }

  #list({ items, optional }: ListExpr): Plan {
    const before = this.#steps;
    const plans = items.map((item) => this.plan(item));
    if (plans.every((plan) => plan.constant !== undefined)) {
      this.#steps = before;
      return constant(plans.map((plan) => plan.constant!.value));
    }
    return {
      step: priced(LIST_PRICE, (env) => {
        const list: unknown[] = [];
        for (const [index, { step }] of plans.entries()) {
          const value = step(env);
          if (value instanceof Failure) return value;
          if (!optional.has(index)) list.push(value);
          else if (!(value instanceof Optional))
            return new Failure(`cannot initialize optional list element from non-optional value ${valueText(value)}`);
          else if (value.hasValue) list.push(value.content);
        }
        return list;
      }),
    };
  }

  #map({ entries }: MapExpr): Plan {
    const before = this.#steps;
    const plans = entries.map(({ key, value, optional }) => ({
      key: this.plan(key),
      value: this.plan(value),
      optional,
    }));
    const step = mapStep(plans);
    if (plans.every(({ key, value }) => key.constant !== undefined && value.constant !== undefined)) {
      this.#steps = before;
      const value = step({ activation: {}, slots: [] });
      if (!(value instanceof Failure)) return constant(value);
    }
    return { step: priced(MAP_PRICE, step) };
  }

  #struct({ typeName, fields }: StructExpr): Plan {
    const make = this.#environment.constructors.get(typeName.replace(/^\./, ''));
    const plans = fields.map(({ name, value, optional }) => ({
      key: constant(name),
      value: this.plan(value),
      optional,
    }));
    const step = mapStep(plans);
    return {
      step: priced(STRUCT_PRICE, (env) => {
        const map = step(env);
        return map instanceof Failure ? map : make!(typeName, map as Map<string, unknown>);
      }),
    };
  }

  #fold(fold: Fold): Plan {
    const outer = this.#names;
    const slot = this.slots;
    this.slots += fold.iterVar2 === undefined ? 2 : 3;
    const range = this.plan(fold.range).step;
    const init = this.plan(fold.init).step;
    const accumulator = [{ name: fold.accuVar, slot }, ...outer];
    const second = fold.iterVar2 === undefined ? [] : [{ name: fold.iterVar2, slot: slot + 2 }];
    this.#names = [{ name: fold.iterVar, slot: slot + 1 }, ...second, ...accumulator];
    this.#steps += LOOP_STEPS;
    const before = this.#steps;
    const condition = this.plan(fold.condition);
    const step = this.plan(fold.step).step;
    const steps = this.#steps - before;
    this.#names = accumulator;
    const result = this.plan(fold.result).step;
    this.#names = outer;
    return { step: foldLoop({ fold, slot, steps, range, init, condition, step, result }) };
  }
}

const ATTRIBUTE_CALLS: ReadonlySet<string> = new Set(['_[_]', '_[?_]', '_?._', '_?_:_']);

function presence(resolve: Step): Step {
  return (env) => {
    const value = resolve(env);
    return value instanceof Optional ? value.hasValue && value.content !== false : value;
  };
}

function priced(price: number, step: Step): Step {
  return (env) => {
    const value = step(env);
    charge(price);
    return value;
  };
}

interface EntryPlan {
  readonly key: Plan;
  readonly value: Plan;
  readonly optional: boolean;
}

function mapStep(plans: readonly EntryPlan[]): Step {
  return (env: Env): unknown => {
    const map = new Map<unknown, unknown>();
    for (const plan of plans) {
      const key = plan.key.step(env);
      if (key instanceof Failure) return key;
      const value = plan.value.step(env);
      if (value instanceof Failure) return value;
      if (!plan.optional) setEntry(map, key, value);
      else if (!(value instanceof Optional))
        return new Failure(
          `cannot initialize optional entry '${valueText(key)}' from non-optional value ${valueText(value)}`,
        );
      else if (value.hasValue) setEntry(map, key, value.content);
      else deleteEntry(map, key);
    }
    return map;
  };
}

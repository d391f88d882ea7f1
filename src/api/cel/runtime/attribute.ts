/**
 * Variables and values with their selections, evaluated as one attribute, because upstream charges the attribute once and each
 * selection. Upstream: cel-go interpreter/attributes.go and its observers in interpretable.go.
 */
import { charge } from '../meter.ts';
import { valueText } from './value-text.ts';
import type { Env, Step } from './env.ts';
import { isMapValue, mapValue, Failure, Optional, Uint } from './values.ts';
import { typeOf } from './type-of.ts';

/** A field selection or an index. */
export interface Qualifier {
  /** The key, or a failure. */
  key(env: Env): unknown;
  /** `.?` and `[?_]`: an absent value is not a failure. */
  readonly optional: boolean;
  /** Set for `has()`: the result is whether the selection is present. */
  readonly testOnly: boolean;
}

/** A root value and the selections that follow it. */
export interface Attribute {
  /** The value, without the price of the attribute itself. */
  resolve: Step;
  /** The price of the attribute itself. */
  readonly price: 0 | 1;
  add(qualifier: Qualifier): void;
}

/** An attribute whose root is a variable or any other value. */
export class RootAttribute implements Attribute {
  readonly price = 1;
  readonly #qualifiers: Qualifier[] = [];
  readonly #root: Step;

  constructor(root: Step) {
    this.#root = root;
  }

  add(qualifier: Qualifier): void {
    this.#qualifiers.push(qualifier);
  }

  resolve = (env: Env): unknown => {
    let value = this.#root(env);
    if (value instanceof Failure || this.#qualifiers.length === 0) return value;
    let isOptional = value instanceof Optional;
    if (value instanceof Optional) {
      if (!value.hasValue) return value;
      value = value.content;
    }
    for (const qualifier of this.#qualifiers) {
      isOptional ||= qualifier.optional;
      value = qualify(env, value, { qualifier, isOptional });
      if (value === undefined) return Optional.none;
      if (value instanceof Failure) return value;
    }
    return isOptional ? Optional.of(value) : value;
  };
}

/** `condition ? a : b`: selections that follow apply to both branches. */
export class ChoiceAttribute implements Attribute {
  readonly price = 0;
  readonly #condition: Step;
  readonly #yes: Attribute;
  readonly #no: Attribute;

  constructor(condition: Step, yes: Attribute, no: Attribute) {
    this.#condition = condition;
    this.#yes = yes;
    this.#no = no;
  }

  add(qualifier: Qualifier): void {
    this.#yes.add(qualifier);
    this.#no.add(qualifier);
  }

  resolve = (env: Env): unknown => {
    const condition = this.#condition(env);
    if (condition === true) return this.#yes.resolve(env);
    if (condition === false) return this.#no.resolve(env);
    return condition instanceof Failure ? condition : new Failure('no such overload');
  };
}

interface Selection {
  readonly qualifier: Qualifier;
  readonly isOptional: boolean;
}

/** The selected value; undefined when it is absent and the selection is optional. */
function qualify(env: Env, value: unknown, { qualifier, isOptional }: Selection): unknown {
  const key = qualifier.key(env);
  const found = key instanceof Failure ? key : select(value, key, isOptional || qualifier.testOnly);
  if (qualifier.testOnly) {
    charge(1);
    return found instanceof Failure ? found : found !== undefined;
  }
  if (found !== undefined) charge(1);
  return found;
}

/** The value at a key. With `isTest` it is undefined when the key does not exist. */
function select(value: unknown, key: unknown, isTest: boolean): unknown {
  if (Array.isArray(value)) return selectItem(value, key, isTest);
  const found = isMapValue(value) ? mapValue(value, key) : undefined;
  if (found !== undefined || isTest) return found;
  return new Failure(`no such key: ${valueText(key)}`);
}

function selectItem(list: readonly unknown[], key: unknown, isTest: boolean): unknown {
  const index = indexOf(key);
  if (index === undefined) return new Failure(`unsupported index type '${typeOf(key).name}' in list`);
  if (Number.isNaN(index)) return new Failure(`unsupported index value ${valueText(key)} in list`);
  const found = list[index];
  if (found !== undefined || isTest) return found;
  return new Failure(`index out of bounds: ${valueText(key)}`);
}

function indexOf(key: unknown): number | undefined {
  if (typeof key === 'bigint') return Number(key);
  if (key instanceof Uint) return Number(key.value);
  if (typeof key !== 'number') return undefined;
  return Number.isInteger(key) ? key : Number.NaN;
}

/**
 * Assignability of types; type parameters are bound during the check. Each step is metered: a bound type can occur in another at
 * several places and is visited at each. Upstream: cel-go checker/types.go.
 */
import { walkWork } from '../meter.ts';
import { constructedType, DYN_TYPE, isDynOrError, type Type } from './type.ts';

const NULLABLE: ReadonlySet<string> = new Set(['opaque', 'struct', 'duration', 'timestamp', 'null']);

/** The types of type parameters, by name. */
export class Bindings {
  readonly #types: Map<string, Type>;
  /** The changes of the current attempt: names and their former types. */
  #changes: [name: string, before: Type | undefined][] = [];

  constructor(types: Iterable<readonly [string, Type]> = []) {
    this.#types = new Map(types);
  }

  get(name: string): Type | undefined {
    return this.#types.get(name);
  }

  set(name: string, type: Type): void {
    this.#changes.push([name, this.#types.get(name)]);
    this.#types.set(name, type);
  }

  /** Keeps the bindings of the attempt when it returns true, and restores the former ones when it returns false. */
  keepIf(attempt: () => boolean): boolean {
    this.#changes = [];
    const succeeds = attempt();
    if (!succeeds) this.#takeBack();
    return succeeds;
  }

  #takeBack(): void {
    for (const [name, before] of this.#changes.toReversed())
      if (before === undefined) this.#types.delete(name);
      else this.#types.set(name, before);
  }
}

/** Whether values of the types `from` fit the types `to`. When they do, type parameters are bound. */
export function assignAll(bindings: Bindings, to: readonly Type[], from: readonly Type[]): boolean {
  return bindings.keepIf(() => fitsAll(bindings, to, from));
}

/** `assignAll` for one type. */
export function assign(bindings: Bindings, to: Type, from: Type): boolean {
  return bindings.keepIf(() => fits(bindings, to, from));
}

function fitsAll(bindings: Bindings, a: readonly Type[], b: readonly Type[]): boolean {
  return a.length === b.length && a.every((type, index) => fits(bindings, type, b[index]!));
}

function fits(bindings: Bindings, a: Type, b: Type): boolean {
  walkWork(1);
  if (a === b && a.isClosed) return true;
  if (b.kind === 'param') {
    const { valid, bound } = bind(bindings, a, b);
    if (valid) return true;
    if (bound) return false;
  }
  if (a.kind === 'param') return bind(bindings, b, a).valid;
  if (isDynOrError(a) || isDynOrError(b)) return true;
  if (a.kind === 'null') return NULLABLE.has(b.kind);
  if (b.kind === 'null') return NULLABLE.has(a.kind);
  if (a.kind === 'type') return b.kind === 'type';
  return a.kind === b.kind && a.name === b.name && fitsAll(bindings, a.params, b.params);
}

/** Whether a type may be bound to a parameter, and whether the parameter was bound before. */
function bind(bindings: Bindings, type: Type, param: Type): { valid: boolean; bound: boolean } {
  if (type.kind === 'param' && type.name === param.name) return { valid: true, bound: true };
  const bound = bindings.get(param.name);
  if (bound === undefined) {
    const valid = !occursIn(bindings, param, type);
    if (valid) bindings.set(param.name, type);
    return { valid, bound: false };
  }
  if (type.equals(bound)) return { valid: true, bound: true };
  if (!fits(bindings, type, bound)) return { valid: false, bound: true };
  const general = moreGeneral(type, bound);
  if (!occursIn(bindings, param, general)) bindings.set(param.name, general);
  return { valid: true, bound: true };
}

/** The more general of two assignable types. Upstream: mostGeneral. */
export function moreGeneral(a: Type, b: Type): Type {
  return isEqualOrLessSpecific(a, b) ? a : b;
}

function isEqualOrLessSpecific(a: Type, b: Type): boolean {
  walkWork(1);
  if (a.kind === 'dyn' || a.kind === 'param') return true;
  if (b.kind === 'dyn' || b.kind === 'param') return false;
  if (a.kind !== b.kind) return false;
  if (a.kind === 'type') return true;
  if (a.kind !== 'opaque' && a.kind !== 'list' && a.kind !== 'map') return a.equals(b);
  if (a.name !== b.name || a.params.length !== b.params.length) return false;
  return a.params.every((param, index) => isEqualOrLessSpecific(param, b.params[index]!));
}

function occursIn(bindings: Bindings, param: Type, within: Type): boolean {
  walkWork(1);
  if (within.isClosed) return false;
  if (param.equals(within)) return true;
  if (within.kind === 'param') {
    const bound = bindings.get(within.name);
    return bound !== undefined && occursIn(bindings, param, bound);
  }
  return within.params.some((inner) => occursIn(bindings, param, inner));
}

/** A type with its parameters replaced by their bindings. With `unboundIsDyn` unbound parameters become dyn. */
export function substitute(bindings: Bindings, type: Type, unboundIsDyn: boolean): Type {
  if (type.isClosed) return type;
  walkWork(1);
  if (type.kind === 'param') {
    const bound = bindings.get(type.name);
    if (bound !== undefined) return substitute(bindings, bound, unboundIsDyn);
    return unboundIsDyn ? DYN_TYPE : type;
  }
  const params = type.params.map((param) => substitute(bindings, param, unboundIsDyn));
  if (params.every((param, index) => param === type.params[index])) return type;
  return constructedType(type.kind, type.name, params);
}

/**
 * Checks names, fields and signatures of a tree, and writes types and overloads into its nodes. Upstream: cel-go
 * checker/checker.go.
 */
import type { CelEnvironment } from '../environment.ts';
import {
  type Call,
  dottedName,
  type Expr,
  type Fold,
  type Ident,
  type ListExpr,
  type MapExpr,
  type Select,
  type StructExpr,
  walk,
} from '../language/expr.ts';
import type { Issue } from '../language/source.ts';
import { typeOf } from '../runtime/type-of.ts';
import { substitute } from './assign.ts';
import type { Overload } from './declarations.ts';
import { TypeInference } from './type-inference.ts';
import {
  BOOL_TYPE,
  DYN_TYPE,
  ERROR_TYPE,
  isDynOrError,
  isOptionalType,
  listOf,
  mapOf,
  optionalOf,
  STRING_TYPE,
  type Type,
  typeOfType,
  typeText,
} from './type.ts';

/** Checks a tree and returns the issues. */
export function checkTypes(root: Expr, environment: CelEnvironment): Issue[] {
  const checker = new Checker(environment);
  checker.check(root);
  checker.settle(root);
  return checker.issues;
}

/** Variables by name, those of inner scopes first. */
interface Scope {
  readonly names: ReadonlyMap<string, Type>;
  readonly outer: Scope | undefined;
}

class Checker {
  readonly #inference = new TypeInference();
  readonly #environment: CelEnvironment;
  #scope: Scope | undefined;

  constructor(environment: CelEnvironment) {
    this.#environment = environment;
  }

  get issues(): Issue[] {
    return this.#inference.issues;
  }

  /** Replaces type parameters in all nodes by their inferred types. */
  settle(root: Expr): void {
    walk(root, (expr) => {
      if (expr.type !== undefined) expr.type = substitute(this.#inference.bindings, expr.type, true);
    });
  }

  check(expr: Expr): Type {
    return (expr.type = this.#typeOf(expr));
  }

  #typeOf(expr: Expr): Type {
    switch (expr.kind) {
      case 'literal':
        return typeOf(expr.value);
      case 'ident':
        return this.#ident(expr);
      case 'select':
        return this.#select(expr);
      case 'call':
        return expr.name === '_?._' ? this.#optionalSelect(expr) : this.#call(expr);
      case 'list':
        return this.#list(expr);
      case 'map':
        return this.#map(expr);
      case 'struct':
        return this.#struct(expr);
      case 'fold':
        return this.#fold(expr);
      case 'unspecified':
        return ERROR_TYPE;
    }
  }

  /** The type of a variable, or the type that a type's name denotes. */
  #lookUp(spelled: string): { readonly type: Type; readonly constant?: Type } | undefined {
    const name = withoutDot(spelled);
    for (let scope = this.#scope; scope !== undefined; scope = scope.outer) {
      const type = scope.names.get(name);
      if (type !== undefined) return { type };
    }
    const variable = this.#environment.variables.get(name);
    if (variable !== undefined) return { type: variable };
    const constant = this.#environment.types.get(name);
    return constant && { type: typeOfType(constant), constant };
  }

  #ident(expr: Ident): Type {
    const found = this.#lookUp(expr.name);
    if (found === undefined) return this.#inference.undeclared(expr.at, expr.name);
    if (found.constant !== undefined) expr.constant = found.constant;
    expr.name = withoutDot(expr.name);
    return found.type;
  }

  #select(expr: Select): Type {
    const name = dottedName(expr);
    const found = name === undefined ? undefined : this.#lookUp(name);
    if (name !== undefined && found !== undefined) {
      const { constant } = found;
      expr.qualified = {
        kind: 'ident',
        at: expr.at,
        name: withoutDot(name),
        constant,
      };
      return found.type;
    }
    const type = this.#selectField(expr.at, expr, false);
    return expr.testOnly ? BOOL_TYPE : substitute(this.#inference.bindings, type, false);
  }

  #optionalSelect(call: Call): Type {
    const [operand, name] = call.args as [Expr, Expr];
    const field = name.kind === 'literal' && typeof name.value === 'string' ? name.value : '';
    name.type = STRING_TYPE;
    const type = this.#selectField(call.at, { operand, field }, true);
    call.overloads = [OPTIONAL_SELECT];
    return substitute(this.#inference.bindings, type, false);
  }

  #selectField(at: number, { operand, field }: { operand: Expr; field: string }, optional: boolean): Type {
    const operandType = substitute(this.#inference.bindings, this.check(operand), false);
    const isOptional = isOptionalType(operandType);
    const target = isOptional ? operandType.params[0]! : operandType;
    const type = this.#fieldType(at, target, field);
    return isOptional || optional ? optionalOf(type) : type;
  }

  #fieldType(at: number, target: Type, field: string): Type {
    switch (target.kind) {
      case 'map':
        return target.params[1]!;
      case 'struct':
        return this.#structField(at, target, field);
      case 'param':
        this.#inference.assign(DYN_TYPE, target);
        return DYN_TYPE;
      default:
        if (!isDynOrError(target))
          this.#inference.report(at, () => `type '${typeText(target)}' does not support field selection`);
        return DYN_TYPE;
    }
  }

  #structField(at: number, { name, field }: Type, wanted: string): Type {
    if (field === undefined) {
      this.#inference.report(at, () => `unexpected failed resolution of '${name}'`);
      return ERROR_TYPE;
    }
    const type = field(wanted);
    if (type === undefined) this.#inference.report(at, () => `undefined field '${wanted}'`);
    return type ?? ERROR_TYPE;
  }

  #call(call: Call): Type {
    for (const arg of call.args) this.check(arg);
    const { functions } = this.#environment;
    const { target } = call;
    if (target === undefined) {
      const declared = functions.get(withoutDot(call.name));
      if (declared === undefined) return this.#inference.undeclared(call.at, call.name);
      call.name = declared.name;
      return this.#inference.resolve(call, declared);
    }
    const prefix = dottedName(target);
    const namespaced = prefix === undefined ? undefined : functions.get(`${withoutDot(prefix)}.${call.name}`);
    if (namespaced !== undefined) {
      call.name = namespaced.name;
      call.target = undefined;
      return this.#inference.resolve(call, namespaced);
    }
    this.check(target);
    const declared = functions.get(call.name);
    return declared === undefined
      ? this.#inference.undeclared(call.at, call.name)
      : this.#inference.resolve(call, declared);
  }

  /** The type of an item; of an optional item, the type of its content. */
  #unwrapped(expr: Expr, optional: boolean): Type {
    const type = this.check(expr);
    if (!optional) return type;
    if (isOptionalType(type)) return type.params[0]!;
    if (type.kind !== 'dyn') this.#inference.mismatch(expr.at, optionalOf(type), type);
    return type;
  }

  #list({ items, optional }: ListExpr): Type {
    let type: Type | undefined;
    for (const [index, item] of items.entries())
      type = this.#inference.join(type, this.#unwrapped(item, optional.has(index)));
    return listOf(type ?? this.#inference.newParam());
  }

  #map({ entries }: MapExpr): Type {
    let keyType: Type | undefined;
    let valueType: Type | undefined;
    for (const { key, value, optional } of entries) {
      keyType = this.#inference.join(keyType, this.check(key));
      valueType = this.#inference.join(valueType, this.#unwrapped(value, optional));
    }
    return mapOf(keyType ?? this.#inference.newParam(), valueType ?? this.#inference.newParam());
  }

  #struct({ at, typeName, fields }: StructExpr): Type {
    const found = this.#lookUp(typeName);
    if (found === undefined) return this.#inference.undeclared(at, typeName);
    const type = this.#constructed(at, found);
    for (const { at: place, name, value, optional } of fields) {
      const unwrapped = this.#unwrapped(value, optional);
      const wanted = type.kind === 'struct' ? this.#structField(place, type, name) : ERROR_TYPE;
      if (this.#inference.assign(wanted, unwrapped)) continue;
      this.#inference.report(
        place,
        () => `expected type of field '${name}' is '${typeText(wanted)}' but provided type is '${typeText(unwrapped)}'`,
      );
    }
    return type;
  }

  #constructed(at: number, { type, constant }: { readonly type: Type; readonly constant?: Type }): Type {
    if (constant === undefined) {
      this.#inference.report(at, () => `'${type.name}' is not a type`);
      return ERROR_TYPE;
    }
    if (constant.kind === 'struct') return constant;
    this.#inference.report(at, () => `'${constant.name}' is not a message type`);
    return ERROR_TYPE;
  }

  #fold(fold: Fold): Type {
    const { range, init, iterVar, iterVar2, accuVar, condition, step, result } = fold;
    const rangeType = substitute(this.#inference.bindings, this.check(range), false);
    const accuType = this.check(init);
    const outer = this.#scope;
    const accumulator: Scope = { names: new Map([[accuVar, accuType]]), outer };
    const [first, second] = this.#inference.variableTypes(rangeType, range.at, iterVar2 !== undefined);
    const names = new Map([[iterVar, first]]);
    if (iterVar2 !== undefined) names.set(iterVar2, second);
    this.#scope = { names, outer: accumulator };
    this.#expect(condition, BOOL_TYPE);
    this.#expect(step, accuType);
    this.#scope = accumulator;
    const type = this.check(result);
    this.#scope = outer;
    return substitute(this.#inference.bindings, type, false);
  }

  #expect(expr: Expr, type: Type): void {
    const found = this.check(expr);
    if (!this.#inference.assign(type, found)) this.#inference.mismatch(expr.at, type, found);
  }
}

/** `.self` refers to the same variable as `self`. */
function withoutDot(name: string): string {
  return name.replace(/^\./, '');
}

const OPTIONAL_SELECT: Overload = {
  signature: '_?._',
  isMember: false,
  args: [DYN_TYPE, STRING_TYPE],
  result: optionalOf(DYN_TYPE),
  params: [],
  handler: () => undefined,
};

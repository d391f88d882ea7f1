/** Checks a tree: names, fields, signatures; writes types and overloads into the nodes. Upstream: cel-go checker/checker.go. */
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
import { type Issue, report } from '../language/source.ts';
import { assign, assignAll, Bindings, moreGeneral, substitute } from './assign.ts';
import type { FunctionDeclaration, Overload } from './declarations.ts';
import {
  BOOL_TYPE,
  DYN_TYPE,
  ERROR_TYPE,
  INT_TYPE,
  isDynOrError,
  isOptionalType,
  listOf,
  mapOf,
  optionalOf,
  paramType,
  STRING_TYPE,
  type Type,
  typeOfType,
  typeText,
} from './type.ts';
import { typeOf } from '../runtime/type-of.ts';

/** Checks a tree; what is wrong with it. */
export function checkTypes(root: Expr, environment: CelEnvironment): Issue[] {
  const checker = new Checker(environment);
  checker.check(root);
  checker.settle(root);
  return checker.issues;
}

/** Names of variables, inner scopes first. */
interface Scope {
  readonly names: ReadonlyMap<string, Type>;
  readonly outer: Scope | undefined;
}

class Checker {
  readonly issues: Issue[] = [];
  readonly #environment: CelEnvironment;
  readonly #bindings = new Bindings();
  #scope: Scope | undefined;
  #fresh = 0;

  constructor(environment: CelEnvironment) {
    this.#environment = environment;
  }

  /** Replaces type parameters in all nodes by what was found out about them. */
  settle(root: Expr): void {
    walk(root, (expr) => {
      if (expr.type !== undefined) expr.type = substitute(this.#bindings, expr.type, true);
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

  #report(at: number, message: () => string): void {
    report(this.issues, at, message);
  }

  #undeclared(at: number, name: string): Type {
    this.#report(at, () => `undeclared reference to '${name}' (in container '')`);
    return ERROR_TYPE;
  }

  #mismatch(at: number, expected: Type, found: Type): void {
    this.#report(at, () => `expected type '${typeText(expected)}' but found '${typeText(found)}'`);
  }

  /** A variable's type, or that of a type's name. */
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
    if (found === undefined) return this.#undeclared(expr.at, expr.name);
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
    return expr.testOnly ? BOOL_TYPE : substitute(this.#bindings, type, false);
  }

  #optionalSelect(call: Call): Type {
    const [operand, name] = call.args as [Expr, Expr];
    const field = name.kind === 'literal' && typeof name.value === 'string' ? name.value : '';
    name.type = STRING_TYPE;
    const type = this.#selectField(call.at, { operand, field }, true);
    call.overloads = [OPTIONAL_SELECT];
    return substitute(this.#bindings, type, false);
  }

  #selectField(at: number, { operand, field }: { operand: Expr; field: string }, optional: boolean): Type {
    const operandType = substitute(this.#bindings, this.check(operand), false);
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
        this.#assign(DYN_TYPE, target);
        return DYN_TYPE;
      default:
        if (!isDynOrError(target))
          this.#report(at, () => `type '${typeText(target)}' does not support field selection`);
        return DYN_TYPE;
    }
  }

  #structField(at: number, { name, field }: Type, wanted: string): Type {
    if (field === undefined) {
      this.#report(at, () => `unexpected failed resolution of '${name}'`);
      return ERROR_TYPE;
    }
    const type = field(wanted);
    if (type === undefined) this.#report(at, () => `undefined field '${wanted}'`);
    return type ?? ERROR_TYPE;
  }

  #call(call: Call): Type {
    for (const arg of call.args) this.check(arg);
    const { functions } = this.#environment;
    const { target } = call;
    if (target === undefined) {
      const declared = functions.get(withoutDot(call.name));
      if (declared === undefined) return this.#undeclared(call.at, call.name);
      call.name = declared.name;
      return this.#resolve(call, declared);
    }
    const prefix = dottedName(target);
    const namespaced = prefix === undefined ? undefined : functions.get(`${withoutDot(prefix)}.${call.name}`);
    if (namespaced !== undefined) {
      call.name = namespaced.name;
      call.target = undefined;
      return this.#resolve(call, namespaced);
    }
    this.check(target);
    const declared = functions.get(call.name);
    return declared === undefined ? this.#undeclared(call.at, call.name) : this.#resolve(call, declared);
  }

  #resolve(call: Call, declared: FunctionDeclaration): Type {
    if (call.name === '_&&_' || call.name === '_||_') return this.#logic(call, declared);
    const operands = call.target === undefined ? call.args : [call.target, ...call.args];
    const types = operands.map(({ type }) => type!);
    const fitting: Overload[] = [];
    let result: Type | undefined;
    for (const overload of declared.overloads) {
      if (overload.isMember !== (call.target !== undefined)) continue;
      const own = this.#instance(overload, types);
      if (own === undefined) continue;
      fitting.push(overload);
      if (result === undefined) result = own;
      else if (result.kind !== 'dyn' && !own.equals(result)) result = DYN_TYPE;
    }
    if (result === undefined) return this.#noOverload(call, types);
    call.overloads = fitting;
    return result;
  }

  #logic(call: Call, { overloads }: FunctionDeclaration): Type {
    let type = BOOL_TYPE;
    for (const arg of call.args) {
      if (this.#assign(arg.type!, BOOL_TYPE)) continue;
      this.#mismatch(arg.at, BOOL_TYPE, arg.type!);
      type = ERROR_TYPE;
    }
    if (type === BOOL_TYPE) call.overloads = overloads;
    return type;
  }

  /** The type of an overload's result for arguments of these types; undefined when it does not take them. */
  #instance({ args, result, params }: Overload, types: readonly Type[]): Type | undefined {
    const own = new Bindings(params.map((param) => [param, this.#newParam()]));
    const wanted = args.map((arg) => substitute(own, arg, false));
    if (!assignAll(this.#bindings, types, wanted)) return undefined;
    return substitute(this.#bindings, substitute(own, result, false), false);
  }

  #noOverload(call: Call, types: readonly Type[]): Type {
    this.#report(call.at, () => {
      const texts = types.map((type) => typeText(substitute(this.#bindings, type, true)));
      const receiver = call.target === undefined ? '' : `${texts.shift()}.`;
      return `found no matching overload for '${call.name}' applied to '${receiver}(${texts.join(', ')})'`;
    });
    return ERROR_TYPE;
  }

  #newParam(): Type {
    return paramType(`_var${this.#fresh++}`);
  }

  #assign(to: Type, from: Type): boolean {
    return assign(this.#bindings, to, from);
  }

  /** The type of an item, of which optional ones are unwrapped. */
  #unwrapped(expr: Expr, optional: boolean): Type {
    const type = this.check(expr);
    if (!optional) return type;
    if (isOptionalType(type)) return type.params[0]!;
    if (type.kind !== 'dyn') this.#mismatch(expr.at, optionalOf(type), type);
    return type;
  }

  #join(previous: Type | undefined, current: Type): Type {
    if (previous === undefined) return current;
    return this.#assign(previous, current) ? moreGeneral(previous, current) : DYN_TYPE;
  }

  #list({ items, optional }: ListExpr): Type {
    let type: Type | undefined;
    for (const [index, item] of items.entries()) type = this.#join(type, this.#unwrapped(item, optional.has(index)));
    return listOf(type ?? this.#newParam());
  }

  #map({ entries }: MapExpr): Type {
    let keyType: Type | undefined;
    let valueType: Type | undefined;
    for (const { key, value, optional } of entries) {
      keyType = this.#join(keyType, this.check(key));
      valueType = this.#join(valueType, this.#unwrapped(value, optional));
    }
    return mapOf(keyType ?? this.#newParam(), valueType ?? this.#newParam());
  }

  #struct({ at, typeName, fields }: StructExpr): Type {
    const found = this.#lookUp(typeName);
    if (found === undefined) return this.#undeclared(at, typeName);
    const type = this.#constructed(at, found);
    for (const { at: place, name, value, optional } of fields) {
      const unwrapped = this.#unwrapped(value, optional);
      const wanted = type.kind === 'struct' ? this.#structField(place, type, name) : ERROR_TYPE;
      if (this.#assign(wanted, unwrapped)) continue;
      this.#report(
        place,
        () => `expected type of field '${name}' is '${typeText(wanted)}' but provided type is '${typeText(unwrapped)}'`,
      );
    }
    return type;
  }

  #constructed(at: number, { type, constant }: { readonly type: Type; readonly constant?: Type }): Type {
    if (constant === undefined) {
      this.#report(at, () => `'${type.name}' is not a type`);
      return ERROR_TYPE;
    }
    if (constant.kind === 'struct') return constant;
    this.#report(at, () => `'${constant.name}' is not a message type`);
    return ERROR_TYPE;
  }

  #fold(fold: Fold): Type {
    const { range, init, iterVar, iterVar2, accuVar, condition, step, result } = fold;
    const rangeType = substitute(this.#bindings, this.check(range), false);
    const accuType = this.check(init);
    const outer = this.#scope;
    const accumulator: Scope = { names: new Map([[accuVar, accuType]]), outer };
    const [first, second] = this.#variableTypes(rangeType, range.at, iterVar2 !== undefined);
    const names = new Map([[iterVar, first]]);
    if (iterVar2 !== undefined) names.set(iterVar2, second);
    this.#scope = { names, outer: accumulator };
    this.#expect(condition, BOOL_TYPE);
    this.#expect(step, accuType);
    this.#scope = accumulator;
    const type = this.check(result);
    this.#scope = outer;
    return substitute(this.#bindings, type, false);
  }

  #expect(expr: Expr, type: Type): void {
    const found = this.check(expr);
    if (!this.#assign(type, found)) this.#mismatch(expr.at, type, found);
  }

  /** Types of a loop's variables: items, or keys; with two variables indices and items, or keys and values. */
  #variableTypes(range: Type, at: number, hasTwo: boolean): [Type, Type] {
    switch (range.kind) {
      case 'list':
        return hasTwo ? [INT_TYPE, range.params[0]!] : [range.params[0]!, DYN_TYPE];
      case 'map':
        return [range.params[0]!, range.params[1]!];
      case 'dyn':
      case 'error':
      case 'param':
        this.#assign(DYN_TYPE, range);
        return [DYN_TYPE, DYN_TYPE];
      default:
        this.#report(
          at,
          () =>
            `expression of type '${typeText(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
        );
        return [ERROR_TYPE, ERROR_TYPE];
    }
  }
}

/** `.self` names the same as `self`. */
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

/**
 * Inference of type parameters while a tree is checked: overloads of calls, types of items. Upstream: cel-go checker
 * (resolveOverload, joinTypes).
 */
import type { Call } from '../language/expr.ts';
import { type Issue, report } from '../language/source.ts';
import { assign, assignAll, Bindings, moreGeneral, substitute } from './assign.ts';
import type { FunctionDeclaration, Overload } from './declarations.ts';
import { BOOL_TYPE, DYN_TYPE, ERROR_TYPE, INT_TYPE, paramType, type Type, typeText } from './type.ts';
import { reportMismatch } from './mismatch.ts';

export class TypeInference {
  readonly issues: Issue[] = [];
  readonly bindings = new Bindings();
  #fresh = 0;

  report(at: number, message: () => string): void {
    report(this.issues, at, message);
  }

  undeclared(at: number, name: string): Type {
    this.report(at, () => `undeclared reference to '${name}' (in container '')`);
    return ERROR_TYPE;
  }

  mismatch(at: number, expected: Type, found: Type): void {
    reportMismatch(this.issues, at, [expected, found]);
  }

  resolve(call: Call, declared: FunctionDeclaration): Type {
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
      if (this.assign(arg.type!, BOOL_TYPE)) continue;
      this.mismatch(arg.at, BOOL_TYPE, arg.type!);
      type = ERROR_TYPE;
    }
    if (type === BOOL_TYPE) call.overloads = overloads;
    return type;
  }

  /** The result type of an overload for these argument types; undefined when the overload does not accept them. */
  #instance({ args, result, params }: Overload, types: readonly Type[]): Type | undefined {
    const own = new Bindings(params.map((param) => [param, this.newParam()]));
    const wanted = args.map((arg) => substitute(own, arg, false));
    if (!assignAll(this.bindings, types, wanted)) return undefined;
    return substitute(this.bindings, substitute(own, result, false), false);
  }

  #noOverload(call: Call, types: readonly Type[]): Type {
    this.report(call.at, () => {
      const texts = types.map((type) => typeText(substitute(this.bindings, type, true)));
      const receiver = call.target === undefined ? '' : `${texts.shift()}.`;
      return `found no matching overload for '${call.name}' applied to '${receiver}(${texts.join(', ')})'`;
    });
    return ERROR_TYPE;
  }

  newParam(): Type {
    return paramType(`_var${this.#fresh++}`);
  }

  assign(to: Type, from: Type): boolean {
    return assign(this.bindings, to, from);
  }

  join(previous: Type | undefined, current: Type): Type {
    if (previous === undefined) return current;
    return this.assign(previous, current) ? moreGeneral(previous, current) : DYN_TYPE;
  }

  /** The types of a loop's variables. One variable has items or keys; two have indices and items, or keys and values. */
  variableTypes(range: Type, at: number, hasTwo: boolean): [Type, Type] {
    switch (range.kind) {
      case 'list':
        return hasTwo ? [INT_TYPE, range.params[0]!] : [range.params[0]!, DYN_TYPE];
      case 'map':
        return [range.params[0]!, range.params[1]!];
      case 'dyn':
      case 'error':
      case 'param':
        this.assign(DYN_TYPE, range);
        return [DYN_TYPE, DYN_TYPE];
      default:
        this.report(
          at,
          () =>
            `expression of type '${typeText(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
        );
        return [ERROR_TYPE, ERROR_TYPE];
    }
  }
}

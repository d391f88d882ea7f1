/**
 * Macros beyond the evaluator's: `has` on any selection, comprehensions with two variables, and those of optionals.
 * Upstream: cel-go's parser macros, ext.TwoVarComprehensions, cel.OptionalTypes.
 */
import type { Environment } from '@marcbachmann/cel-js';
import { EvaluationError, Optional } from '@marcbachmann/cel-js';
import { charge } from './meter.ts';
import type { Checker, Evaluator, Macro, MacroCall, Node, Scope, TypeDecl } from './syntax-tree.ts';
import { celEquals, FunctionError, isMapValue, mapEntries } from './values.ts';

/** Declares the macros. */
export function defineMacros(environment: Environment): void {
  const macro = (signature: string, expand: (call: MacroCall) => Macro): void => {
    environment.registerFunction(signature, expand as never);
  };
  macro('list.all(ast, ast, ast): bool', (call) => quantifier(call, 'all'));
  macro('list.exists(ast, ast, ast): bool', (call) => quantifier(call, 'exists'));
  macro('list.existsOne(ast, ast, ast): bool', (call) => quantifier(call, 'existsOne'));
  macro('list.exists_one(ast, ast, ast): bool', (call) => quantifier(call, 'existsOne'));
  macro('list.transformList(ast, ast, ast): dyn', (call) => transform(call, 'list'));
  macro('list.transformList(ast, ast, ast, ast): dyn', (call) => transform(call, 'list'));
  macro('list.transformMap(ast, ast, ast): dyn', (call) => transform(call, 'map'));
  macro('list.transformMap(ast, ast, ast, ast): dyn', (call) => transform(call, 'map'));
  macro('list.transformMapEntry(ast, ast, ast): dyn', (call) => transform(call, 'entries'));
  macro('list.transformMapEntry(ast, ast, ast, ast): dyn', (call) => transform(call, 'entries'));
  macro('optional.optMap(ast, ast): dyn', (call) => optionalMap(call, false));
  macro('optional.optFlatMap(ast, ast): dyn', (call) => optionalMap(call, true));
}

/** The scopes of the two variables, made while checking and reused while evaluating. */
interface Pair {
  outer: Scope;
  inner: Scope;
}

function nameOf(node: Node | undefined): string {
  if (node?.op === 'id') return node.args as string;
  throw new FunctionError('argument must be a simple name');
}

function bindTypes(checker: Checker, call: MacroCall, scope: Scope): Pair {
  const [key, value] = typesOf(checker, call.receiver!, checker.check(call.receiver!, scope));
  const outer = scope.forkWithVariable(nameOf(call.args[0]), key);
  return { outer, inner: outer.forkWithVariable(nameOf(call.args[1]), value) };
}

function typesOf(checker: Checker, node: Node, type: TypeDecl): readonly [TypeDecl, TypeDecl] {
  const dyn = checker.getType('dyn');
  if (type.kind === 'list') return [checker.getType('int'), type.valueType ?? dyn];
  if (type.kind === 'map') return [type.keyType ?? dyn, type.valueType ?? dyn];
  if (type.kind === 'dyn') return [dyn, dyn];
  throw checker.createError(
    'invalid_comprehension_range',
    `expression of type '${type.name}' cannot be range of a comprehension (must be list, map, or dynamic)`,
    node,
  );
}

function entriesOf(evaluator: Evaluator, node: Node, value: unknown): Iterable<[unknown, unknown]> {
  if (Array.isArray(value)) return value.map((item, index): [unknown, unknown] => [BigInt(index), item]);
  if (isMapValue(value)) return mapEntries(value);
  throw evaluator.createError('invalid_comprehension_range', 'no such overload', node);
}

/** Runs a body once per entry. */
class Loop {
  readonly #evaluator: Evaluator;
  readonly #outer: Scope;
  readonly #pair: Pair;

  constructor(evaluator: Evaluator, pair: Pair, scope: Scope) {
    this.#evaluator = evaluator;
    this.#pair = pair;
    this.#outer = scope;
  }

  enter(key: unknown, value: unknown): Scope {
    charge(1);
    const outer = this.#pair.outer.reuse(this.#outer).setIterValue(key, this.#evaluator);
    return this.#pair.inner.reuse(outer).setIterValue(value, this.#evaluator);
  }
}

function quantifier(call: MacroCall, which: 'all' | 'exists' | 'existsOne'): Macro {
  let pair: Pair | undefined;
  const predicate = call.args[2]!;
  return {
    async: false,
    typeCheck(checker, _macro, scope) {
      pair = bindTypes(checker, call, scope);
      const type = checker.check(predicate, pair.inner);
      if (!type.isDynOrBool())
        throw checker.createError('invalid_condition_type', `expected type 'bool' but found '${type.name}'`, predicate);
      return checker.getType('bool');
    },
    evaluate(evaluator, _macro, scope) {
      const loop = new Loop(evaluator, pair!, scope);
      const entries = entriesOf(evaluator, call.receiver!, evaluator.run(call.receiver!, scope));
      if (which === 'existsOne') return countTrue(evaluator, predicate, { loop, entries }) === 1;
      return anyOrAll(evaluator, predicate, { loop, entries, stopAt: which === 'exists' });
    },
  };
}

interface Run {
  readonly loop: Loop;
  readonly entries: Iterable<[unknown, unknown]>;
}

function countTrue(evaluator: Evaluator, predicate: Node, { loop, entries }: Run): number {
  let count = 0;
  for (const [key, value] of entries) if (evaluator.run(predicate, loop.enter(key, value)) === true) count++;
  return count;
}

/** An error counts only when no entry decides. */
function anyOrAll(evaluator: Evaluator, predicate: Node, run: Run & { stopAt: boolean }): boolean {
  let failure: unknown;
  for (const [key, value] of run.entries) {
    const answer = evaluator.tryEval(predicate, run.loop.enter(key, value));
    if (answer === run.stopAt) return run.stopAt;
    if (answer instanceof Error) failure ??= answer;
  }
  if (failure !== undefined) throw failure;
  return !run.stopAt;
}

function transform(call: MacroCall, into: 'list' | 'map' | 'entries'): Macro {
  let pair: Pair | undefined;
  const filter = call.args.length === 4 ? call.args[2] : undefined;
  const body = call.args.at(-1)!;
  return {
    async: false,
    typeCheck(checker, _macro, scope) {
      pair = bindTypes(checker, call, scope);
      if (filter !== undefined && !checker.check(filter, pair.inner).isDynOrBool())
        throw checker.createError('invalid_condition_type', "expected type 'bool'", filter);
      const type = checker.check(body, pair.inner);
      if (into === 'list') return checker.registry.getListType(type);
      if (into === 'entries') return type.kind === 'map' ? type : checker.getType('map');
      const [key] = typesOf(checker, call.receiver!, checker.check(call.receiver!, scope));
      return checker.registry.getMapType(key, type);
    },
    evaluate(evaluator, _macro, scope) {
      const loop = new Loop(evaluator, pair!, scope);
      const list: unknown[] = [];
      const map = new Map<unknown, unknown>();
      for (const [key, value] of entriesOf(evaluator, call.receiver!, evaluator.run(call.receiver!, scope))) {
        const inner = loop.enter(key, value);
        if (filter !== undefined && evaluator.run(filter, inner) !== true) continue;
        const made = evaluator.run(body, inner);
        if (into === 'list') list.push(made);
        else if (into === 'map') map.set(key, made);
        else addEntries(map, made);
      }
      return into === 'list' ? list : map;
    },
  };
}

function addEntries(map: Map<unknown, unknown>, made: unknown): void {
  if (!isMapValue(made)) throw new FunctionError('no such overload');
  for (const [key, value] of mapEntries(made)) {
    if ([...map.keys()].some((known) => celEquals(known, key)))
      throw new FunctionError(`insert failed: key ${String(key)} already exists`);
    map.set(key, value);
  }
}

function optionalMap(call: MacroCall, flat: boolean): Macro {
  let bound: Scope | undefined;
  const body = call.args[1]!;
  return {
    async: false,
    typeCheck(checker, _macro, scope) {
      const type = checker.check(call.receiver!, scope);
      const inner = type.kind === 'optional' ? type.valueType : undefined;
      bound = scope.forkWithVariable(nameOf(call.args[0]), inner ?? checker.getType('dyn'));
      const made = checker.check(body, bound);
      return flat ? made : checker.registry.getOptionalType(made);
    },
    evaluate(evaluator, _macro, scope) {
      const receiver = evaluator.run(call.receiver!, scope);
      if (!(receiver instanceof Optional))
        throw evaluator.createError('optional_expected', 'no such overload', call.receiver!);
      if (!receiver.hasValue()) return receiver;
      const made = evaluator.run(body, bound!.reuse(scope).setIterValue(receiver.value(), evaluator));
      return flat ? made : Optional.of(made);
    },
  };
}

/** `has(operand.field)`: whether the selection finds something. */
export function hasMacro(argument: Node | undefined): Macro {
  const [operand, field] = selectionOf(argument);
  return {
    async: false,
    typeCheck(checker, _macro, scope) {
      if (operand === undefined)
        throw checker.createError('invalid_macro_argument', 'invalid argument to has() macro', argument!);
      checker.check(argument!, scope);
      return checker.getType('bool');
    },
    evaluate(evaluator, _macro, scope) {
      return isPresent(evaluator.run(operand!, scope), field);
    },
  };
}

function selectionOf(node: Node | undefined): readonly [Node | undefined, string] {
  if (node?.op !== '.') return [undefined, ''];
  const [operand, field] = node.args as [Node, string];
  return [operand, field];
}

function isPresent(value: unknown, field: string): boolean {
  if (value instanceof Optional) return value.hasValue() && isPresent(value.value(), field);
  if (value instanceof Map) return value.has(field);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new EvaluationError({ code: 'no_such_overload', message: 'no such overload' });
  }
  if (isMapValue(value)) return Object.hasOwn(value, field);
  return (value as Record<string, unknown>)[field] !== undefined;
}

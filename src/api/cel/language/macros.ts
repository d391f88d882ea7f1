/**
 * Macros, expanded during parsing. Upstream: cel-go parser/macro.go, ext/comprehensions.go, ext/lists.go, ext/bindings.go and
 * cel/library.go.
 */
import { childrenOf, type Expr, walk } from './expr.ts';
import { ACCUMULATOR, Builder, type FoldParts } from './macro-builder.ts';

/** A call that may be a macro. */
interface MacroCall {
  readonly name: string;
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
  /** The position of the expansion: the call's opening parenthesis. */
  readonly at: number;
}

/** The expansion of a macro, or the issue about it. */
type Expansion = Expr | { readonly at: number; readonly problem: string };
const OLD_ACCUMULATOR = '__result__';

/** Builds a loop's parts from the arguments behind its variables. */
type LoopMacro = (build: Builder, args: readonly Expr[], names: readonly string[]) => FoldParts;

const all: LoopMacro = (build, [predicate]) => ({
  init: build.literal(true),
  condition: build.call('@not_strictly_false', build.accumulator()),
  step: build.call('_&&_', build.accumulator(), predicate!),
});

const exists: LoopMacro = (build, [predicate]) => ({
  init: build.literal(false),
  condition: build.call('@not_strictly_false', build.call('!_', build.accumulator())),
  step: build.call('_||_', build.accumulator(), predicate!),
});

const existsOne: LoopMacro = (build, [predicate]) => ({
  init: build.literal(0n),
  condition: build.literal(true),
  step: build.call('_?_:_', predicate!, build.call('_+_', build.accumulator(), build.literal(1n)), build.accumulator()),
  result: build.call('_==_', build.accumulator(), build.literal(1n)),
});

/** A loop that collects values, with an optional predicate. */
function collecting(
  init: (build: Builder) => Expr,
  step: (build: Builder, made: Expr, names: readonly string[]) => Expr,
) {
  return (build: Builder, args: readonly Expr[], names: readonly string[]): FoldParts => {
    const taken = step(build, args.at(-1)!, names);
    const conditional = args.length < 2 ? taken : build.call('_?_:_', args[0]!, taken, build.accumulator());
    return { init: init(build), condition: build.literal(true), step: conditional };
  };
}

const append = (build: Builder, made: Expr): Expr => build.call('_+_', build.accumulator(), build.list(made));
const map = collecting((build) => build.list(), append);
const filter: LoopMacro = (build, [predicate], [name]) => map(build, [predicate!, build.ident(name!)], []);
const emptyMap = (build: Builder): Expr => ({ kind: 'map', at: build.at, entries: [] });
const transformMap = collecting(emptyMap, (build, made, [key]) =>
  build.call('cel.@mapInsert', build.accumulator(), build.ident(key!), made),
);
const transformMapEntry = collecting(emptyMap, (build, made) =>
  build.call('cel.@mapInsert', build.accumulator(), made),
);

/** By name and number of arguments: the number of variables, the loop, and the text for an invalid variable. */
const LOOPS: Readonly<Record<string, readonly [number, LoopMacro, string]>> = {
  'all/2': [1, all, 'argument must be a simple name'],
  'exists/2': [1, exists, 'argument must be a simple name'],
  'exists_one/2': [1, existsOne, 'argument must be a simple name'],
  'map/2': [1, map, 'argument is not an identifier'],
  'map/3': [1, map, 'argument is not an identifier'],
  'filter/2': [1, filter, 'argument is not an identifier'],
  'all/3': [2, all, 'argument must be a simple name'],
  'exists/3': [2, exists, 'argument must be a simple name'],
  'exists_one/3': [2, existsOne, 'argument must be a simple name'],
  'existsOne/3': [2, existsOne, 'argument must be a simple name'],
  'transformList/3': [2, map, 'argument must be a simple name'],
  'transformList/4': [2, map, 'argument must be a simple name'],
  'transformMap/3': [2, transformMap, 'argument must be a simple name'],
  'transformMap/4': [2, transformMap, 'argument must be a simple name'],
  'transformMapEntry/3': [2, transformMapEntry, 'argument must be a simple name'],
  'transformMapEntry/4': [2, transformMapEntry, 'argument must be a simple name'],
};

/** At most this many nodes are copied: with nested copies the number doubles at each level. */
const MAX_COPIED = 10_000;

/** Expands the macros of one expression. */
export class Macros {
  /** Whether `cel.bind` is a macro. */
  readonly #hasBindings: boolean;
  #copied = 0;

  constructor(hasBindings: boolean) {
    this.#hasBindings = hasBindings;
  }

  /** The expansion of a macro call; undefined for calls of functions. */
  expand(call: MacroCall): Expansion | undefined {
    const { name, target, args } = call;
    if (target === undefined || args.length !== 2 || (name !== 'optMap' && name !== 'optFlatMap'))
      return expand(call, this.#hasBindings);
    this.#copied += countNodes(target, MAX_COPIED - this.#copied);
    if (this.#copied > MAX_COPIED)
      return { at: call.at, problem: `${name}() is applied to more than ${MAX_COPIED} nodes in one expression` };
    return optional(new Builder(call.at), call, target);
  }
}

/** The number of nodes; counting stops at one more than the limit. */
function countNodes(root: Expr, limit: number): number {
  const waiting = [root];
  let count = 0;
  for (let expr = waiting.pop(); expr !== undefined && count <= limit; expr = waiting.pop()) {
    count++;
    for (const child of childrenOf(expr)) waiting.push(child);
  }
  return count;
}

function expand(call: MacroCall, hasBindings: boolean): Expansion | undefined {
  const { name, target, args, at } = call;
  const build = new Builder(at);
  if (target === undefined) return name === 'has' && args.length === 1 ? has(build, args[0]!) : undefined;
  if (args.length === 2 && name === 'sortBy') return sortBy(build, target, args);
  if (args.length === 3 && name === 'bind' && hasBindings && isName(target, 'cel')) return bind(build, args);
  const key = `${name}/${args.length}`;
  const loop = Object.hasOwn(LOOPS, key) ? LOOPS[key]! : undefined;
  return loop === undefined ? undefined : loopOf(build, target, { args, loop });
}

function isName(expr: Expr, name: string): boolean {
  return expr.kind === 'ident' && expr.name === name;
}

function has(build: Builder, arg: Expr): Expansion {
  if (arg.kind !== 'select') return { at: arg.at, problem: 'invalid argument to has() macro' };
  return { kind: 'select', at: build.at, operand: arg.operand, field: arg.field, testOnly: true };
}

function bind(build: Builder, [name, value, body]: readonly Expr[]): Expansion {
  if (name!.kind !== 'ident') return { at: name!.at, problem: 'cel.bind() variable names must be simple identifiers' };
  return build.bind(name!.name, value!, body!);
}

function loopOf(
  build: Builder,
  target: Expr,
  { args, loop: [count, parts, problem] }: { args: readonly Expr[]; loop: (typeof LOOPS)[string] },
): Expansion {
  const names: string[] = [];
  for (const arg of args.slice(0, count)) {
    if (arg.kind !== 'ident') return { at: arg.at, problem };
    names.push(arg.name);
  }
  if (count === 2 && names[0] === names[1]) return { at: args[1]!.at, problem: `duplicate variable name: ${names[0]}` };
  for (const [index, name] of names.entries())
    if (name === ACCUMULATOR || name === OLD_ACCUMULATOR)
      return { at: args[index]!.at, problem: 'iteration variable overwrites accumulator variable' };
  return build.loop(target, names, parts(build, args.slice(count), names));
}

function optional(build: Builder, { name, args }: MacroCall, target: Expr): Expansion {
  const [variable, body] = args;
  if (variable!.kind !== 'ident')
    return { at: variable!.at, problem: `${name}() variable name must be a simple identifier` };
  const bound = build.bind(variable!.name, build.method(copy(target), 'value'), body!);
  const result = name === 'optMap' ? build.call('optional.of', bound) : bound;
  return build.call('_?_:_', build.method(target, 'hasValue'), result, build.call('optional.none'));
}

const SORTED = '@__sortBy_input__';

function sortBy(build: Builder, target: Expr, args: readonly Expr[]): Expansion {
  if (target.kind === 'literal' || target.kind === 'map' || target.kind === 'struct')
    return {
      at: target.at,
      problem: 'sortBy can only be applied to a list, identifier, comprehension, call or select expression',
    };
  const keys = loopOf(build, build.ident(SORTED), { args, loop: LOOPS['map/2']! });
  if ('problem' in keys) return keys;
  return build.bind(SORTED, target, build.method(build.ident(SORTED), '@sortByAssociatedKeys', keys));
}

/** A copy of the nodes, because the checker writes types into each. */
function copy(expr: Expr): Expr {
  const made = structuredClone(expr);
  const originals: Expr[] = [];
  walk(expr, (node) => {
    originals.push(node);
  });
  let index = 0;
  // structuredClone loses the classes of literal values, so they are set again.
  walk(made, (node) => {
    const original = originals[index++]!;
    if (node.kind === 'literal' && original.kind === 'literal') Object.assign(node, { value: original.value });
  });
  return made;
}

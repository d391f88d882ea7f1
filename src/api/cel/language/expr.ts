/** The syntax tree, after macros are expanded. Upstream: cel-go common/ast. */
import type { Overload } from '../types/declarations.ts';
import type { Type } from '../types/type.ts';

interface Base {
  /** The offset in the source in code points, for issues; -1 for a node without a position. */
  readonly at: number;
  /** Set by the type checker. */
  type?: Type;
}

/** A value written in the source. */
interface Literal extends Base {
  readonly kind: 'literal';
  readonly value: unknown;
}

export interface Ident extends Base {
  readonly kind: 'ident';
  /** The name as written. The type checker removes its leading dot. */
  name: string;
  /** The type that the name denotes, when it is the name of a type. */
  constant?: Type;
}

/** `operand.field`, or `has(operand.field)`. */
export interface Select extends Base {
  readonly kind: 'select';
  readonly operand: Expr;
  readonly field: string;
  readonly testOnly: boolean;
  /** Set when the whole expression is the dotted name of a variable or type. */
  qualified?: Ident;
}

/** A call of a function or operator. */
export interface Call extends Base {
  readonly kind: 'call';
  /** `a.b.f(x)` has the name `f` and a target, or the name `a.b.f` and no target where such a function is declared. */
  name: string;
  target: Expr | undefined;
  readonly args: readonly Expr[];
  /** Set by the type checker: the overloads that may apply at run time. */
  overloads?: readonly Overload[];
}

/** `[a, ?b]`. */
export interface ListExpr extends Base {
  readonly kind: 'list';
  readonly items: readonly Expr[];
  /** Indices of the optional items. */
  readonly optional: ReadonlySet<number>;
}

export interface MapEntry {
  readonly key: Expr;
  readonly value: Expr;
  readonly optional: boolean;
}

/** `{a: b, ?c: d}`. */
export interface MapExpr extends Base {
  readonly kind: 'map';
  readonly entries: readonly MapEntry[];
}

/** One field of an object under construction. */
export interface FieldInit {
  readonly at: number;
  readonly name: string;
  readonly value: Expr;
  readonly optional: boolean;
}

/** `Name{field: value}`. */
export interface StructExpr extends Base {
  readonly kind: 'struct';
  readonly typeName: string;
  readonly fields: readonly FieldInit[];
}

/**
 * A loop over a range with an accumulator: the expansion of `all`, `exists`, `map`, `filter` and similar macros. cel-go:
 * ComprehensionExpr.
 */
export interface Fold extends Base {
  readonly kind: 'fold';
  readonly range: Expr;
  readonly iterVar: string;
  /** The second iteration variable, in loops that have two. */
  readonly iterVar2: string | undefined;
  readonly accuVar: string;
  readonly init: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

/** A node for a malformed part of the source. */
export interface Unspecified extends Base {
  readonly kind: 'unspecified';
}

export type Expr = Literal | Ident | Select | Call | ListExpr | MapExpr | StructExpr | Fold | Unspecified;

/** Operands, entries and the parts of a comprehension, from left to right; names of fields are none. */
export function childrenOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'select':
      return [expr.operand];
    case 'call':
      return expr.target === undefined ? expr.args : [expr.target, ...expr.args];
    case 'list':
      return expr.items;
    case 'map':
      return expr.entries.flatMap(({ key, value }) => [key, value]);
    case 'struct':
      return expr.fields.map(({ value }) => value);
    case 'fold':
      return [expr.range, expr.init, expr.condition, expr.step, expr.result];
    default:
      return [];
  }
}

/** Calls `visit` for every node, parents first. */
export function walk(root: Expr, visit: (expr: Expr) => void): void {
  const waiting = [root];
  for (let expr = waiting.pop(); expr !== undefined; expr = waiting.pop()) {
    visit(expr);
    for (const child of childrenOf(expr).toReversed()) waiting.push(child);
  }
}

/** The dotted name that an expression spells; undefined for other expressions. */
export function dottedName(expr: Expr): string | undefined {
  if (expr.kind === 'ident') return expr.name;
  if (expr.kind !== 'select' || expr.testOnly) return undefined;
  const operand = dottedName(expr.operand);
  return operand === undefined ? undefined : `${operand}.${expr.field}`;
}

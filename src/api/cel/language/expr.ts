/** The syntax tree, after macros are expanded. Upstream: cel-go common/ast. */
import type { Overload } from '../types/declarations.ts';
import type { Type } from '../types/type.ts';

interface Base {
  /** Offset in the source in code points, where issues point; -1: nowhere. */
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
  /** As it is written; the type checker takes a dot before it away. */
  name: string;
  /** The name is that of a type. */
  constant?: Type;
}

/** `operand.field`, or `has(operand.field)`. */
export interface Select extends Base {
  readonly kind: 'select';
  readonly operand: Expr;
  readonly field: string;
  readonly testOnly: boolean;
  /** The whole is the dotted name of a variable or type. */
  qualified?: Ident;
}

/** A function, operators included. */
export interface Call extends Base {
  readonly kind: 'call';
  /** `a.b.f(x)` becomes `f` with a target, or `a.b.f` without one where such a function is declared. */
  name: string;
  target: Expr | undefined;
  readonly args: readonly Expr[];
  /** Set by the type checker: what the call may mean at run time. */
  overloads?: readonly Overload[];
}

/** `[a, ?b]`. */
export interface ListExpr extends Base {
  readonly kind: 'list';
  readonly items: readonly Expr[];
  /** Positions of items that may be absent. */
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

/** What macros that loop become. */
export interface Fold extends Base {
  readonly kind: 'fold';
  readonly range: Expr;
  readonly iterVar: string;
  /** The second variable of a loop with two. */
  readonly iterVar2: string | undefined;
  readonly accuVar: string;
  readonly init: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

/** A place where the source is malformed. */
export interface Unspecified extends Base {
  readonly kind: 'unspecified';
}

export type Expr = Literal | Ident | Select | Call | ListExpr | MapExpr | StructExpr | Fold | Unspecified;

/** The nodes right below. */
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

/** Calls back for every node, parents first. */
export function walk(root: Expr, visit: (expr: Expr) => void): void {
  const waiting = [root];
  for (let expr = waiting.pop(); expr !== undefined; expr = waiting.pop()) {
    visit(expr);
    for (const child of childrenOf(expr).toReversed()) waiting.push(child);
  }
}

/** The dotted name an expression spells, where it is one. */
export function dottedName(expr: Expr): string | undefined {
  if (expr.kind === 'ident') return expr.name;
  if (expr.kind !== 'select' || expr.testOnly) return undefined;
  const operand = dottedName(expr.operand);
  return operand === undefined ? undefined : `${operand}.${expr.field}`;
}

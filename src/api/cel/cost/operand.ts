/** Operands of calls, from which the estimators compute costs. Upstream: AstNode of cel-go checker/cost.go. */
import type { Expr } from '../language/expr.ts';
import type { Type } from '../types/type.ts';
import { type Range, UNKNOWN } from './range.ts';

/** The size of the value at a path below a variable: `['self', 'spec', '@items']`; undefined where no size is known. */
export type SizeEstimator = (path: readonly string[]) => Range | undefined;

export interface Operand {
  readonly expr: Expr;
  readonly type: Type;
  readonly path: readonly string[] | undefined;
  /** The size that the expression itself has, such as a literal's. */
  readonly size: Range | undefined;
  /** The cost of evaluating the operand. */
  readonly cost: Range;
}

/** A call of one overload with its operands. */
export interface EstimatedCall {
  readonly name: string;
  readonly signature: string;
  readonly target: Operand | undefined;
  readonly args: readonly Operand[];
  readonly sizeAt: SizeEstimator;
}

/** The cost of the call without its operands, and the size of its result. */
export interface CallEstimate {
  readonly cost: Range;
  readonly size?: Range;
}

export function sizeOf(operand: Operand | undefined): Range {
  return operand?.size ?? UNKNOWN;
}

/** The size of a list's items by its path alone; undefined for values that are no lists. */
export function itemSize({ target, sizeAt }: EstimatedCall): { readonly type: Type; readonly size: Range } | undefined {
  const type = target?.type.params[0];
  if (type === undefined) return undefined;
  const { path } = target!;
  return { type, size: (path && sizeAt([...path, '@items'])) ?? UNKNOWN };
}

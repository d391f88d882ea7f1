/** Builds the expressions that macros expand to. */
import type { Expr, Fold } from './expr.ts';

/** A comprehension: the accumulator's initial value, the loop condition, the step, and the result expression. */
export type FoldParts = Pick<Fold, 'init' | 'condition' | 'step'> & { readonly result?: Expr };

/** The name of the accumulator, which expressions cannot spell. */
export const ACCUMULATOR = '@result';

/** Builds nodes that all have the position of the macro in the source, so that errors point to it. */
export class Builder {
  readonly at: number;

  constructor(at: number) {
    this.at = at;
  }

  literal(value: unknown): Expr {
    return { kind: 'literal', at: this.at, value };
  }

  ident(name: string): Expr {
    return { kind: 'ident', at: this.at, name };
  }

  accumulator(): Expr {
    return this.ident(ACCUMULATOR);
  }

  list(...items: Expr[]): Expr {
    return { kind: 'list', at: this.at, items, optional: new Set() };
  }

  call(name: string, ...args: Expr[]): Expr {
    return { kind: 'call', at: this.at, name, target: undefined, args };
  }

  method(target: Expr, name: string, ...args: Expr[]): Expr {
    return { kind: 'call', at: this.at, name, target, args };
  }

  loop(range: Expr, [iterVar, iterVar2]: readonly string[], { init, condition, step, result }: FoldParts): Expr {
    const accuVar = ACCUMULATOR;
    const last = result ?? this.accumulator();
    return {
      kind: 'fold',
      at: this.at,
      range,
      iterVar: iterVar!,
      iterVar2,
      accuVar,
      init,
      condition,
      step,
      result: last,
    };
  }

  /** Binds a name to a value by a loop over an empty list. */
  bind(name: string, value: Expr, result: Expr): Expr {
    const never = { range: this.list(), iterVar: '#unused', iterVar2: undefined };
    const parts = { init: value, condition: this.literal(false), step: this.ident(name), result };
    return { kind: 'fold', at: this.at, accuVar: name, ...never, ...parts };
  }
}

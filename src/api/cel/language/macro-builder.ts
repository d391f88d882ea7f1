/** Builds the expressions that macros expand to. */
import type { Expr, Fold } from './expr.ts';

/** A comprehension: how its accumulator begins, how long it goes on, what each step adds, and what is taken of it. */
export type Parts = Pick<Fold, 'init' | 'condition' | 'step'> & { readonly result?: Expr };

/** Names of what loops collect in; expressions cannot spell the first. */
export const ACCUMULATOR = '@result';

/** Makes nodes that all stand where the macro stands in the source, which errors point to. */
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

  loop(range: Expr, [iterVar, iterVar2]: readonly string[], { init, condition, step, result }: Parts): Expr {
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

  /** A name for a value, as a loop over nothing. */
  bind(name: string, value: Expr, result: Expr): Expr {
    const never = { range: this.list(), iterVar: '#unused', iterVar2: undefined };
    const parts = { init: value, condition: this.literal(false), step: this.ident(name), result };
    return { kind: 'fold', at: this.at, accuVar: name, ...never, ...parts };
  }
}

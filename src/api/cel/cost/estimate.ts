/**
 * The minimum and maximum cost of an expression, from its tree and the sizes of its variables. Definitions and policies whose
 * estimate is too high are refused when they are written. Upstream: cel-go checker/cost.go.
 */
import type { Call, Expr, Fold, ListExpr, MapExpr, Select } from '../language/expr.ts';
import { estimateCall } from './call-estimate.ts';
import { type EntrySizes, ExprSizes, ONE } from './expr-sizes.ts';
import type { CallEstimate, Operand, SizeEstimator } from './operand.ts';
import { either, exactly, MOST, NOTHING, product, type Range, sum, total, UNKNOWN } from './range.ts';

/** The cost of a checked tree. A tree too deep for recursion has the range from nothing to infinite. */
export function estimateCost(tree: Expr, sizeAt: SizeEstimator): Range {
  try {
    return new Estimation(sizeAt).cost(tree);
  } catch (error) {
    if (error instanceof RangeError) return UNKNOWN;
    throw error;
  }
}

const LIST = exactly(10);
const MAP = exactly(30);
const STRUCT = exactly(40);
const ACCUMULATORS: ReadonlySet<string> = new Set(['__result__', '@result']);

class Estimation {
  readonly #sizeAt: SizeEstimator;
  readonly #sizes: ExprSizes;

  constructor(sizeAt: SizeEstimator) {
    this.#sizeAt = sizeAt;
    this.#sizes = new ExprSizes(sizeAt);
  }

  cost(expr: Expr): Range {
    switch (expr.kind) {
      case 'ident':
        this.#sizes.setPath(expr, this.#sizes.local(expr.name)?.path ?? [expr.name]);
        return ONE;
      case 'select':
        return this.#select(expr);
      case 'call':
        return expr.name === 'dyn' ? this.#dyn(expr, expr.args[0]!) : this.#call(expr);
      case 'list':
        return this.#list(expr);
      case 'map':
        return this.#map(expr);
      case 'struct':
        return total([...expr.fields.map(({ value }) => this.cost(value)), STRUCT]);
      case 'fold':
        return isBind(expr) ? this.#bind(expr) : this.#fold(expr);
      default:
        return NOTHING;
    }
  }

  #select(expr: Select): Range {
    const { operand, field, testOnly, qualified } = expr;
    if (qualified !== undefined) {
      this.#sizes.setPath(expr, [qualified.name]);
      return ONE;
    }
    const cost = this.cost(operand);
    if (testOnly) return cost;
    this.#sizes.setPath(expr, [...this.#sizes.path(operand), field]);
    const { kind } = operand.type!;
    return kind === 'map' || kind === 'struct' || kind === 'param' ? sum(cost, ONE) : cost;
  }

  #dyn(call: Call, arg: Expr): Range {
    const cost = this.cost(arg);
    this.#sizes.copySizes(call, arg);
    return sum(ONE, cost);
  }

  #operand(expr: Expr, cost: Range): Operand {
    const path = this.#sizes.path(expr);
    const isKnown = path.length > 0 && !ACCUMULATORS.has(path[0]!);
    return {
      expr,
      type: expr.type!,
      path: isKnown ? path : undefined,
      size: this.#sizes.size(expr),
      cost,
    };
  }

  #call(call: Call): Range {
    const args = call.args.map((arg) => this.#operand(arg, this.cost(arg)));
    const overloads = call.overloads ?? [];
    if (overloads.length === 0) return NOTHING;
    const target = call.target === undefined ? undefined : this.#operand(call.target, this.cost(call.target));
    let cost: Range = { min: MOST, max: 0 };
    let size: Range | undefined;
    for (const { signature } of overloads) {
      const callEstimate = this.#overload(call, signature, { target, args });
      cost = either(cost, callEstimate.cost);
      if (callEstimate.size !== undefined)
        size = size === undefined ? callEstimate.size : either(size, callEstimate.size);
      size = this.#indexed(call, signature) ?? size;
      size ??= this.#sizes.size(call);
    }
    if (size !== undefined) this.#sizes.setSize(call, size);
    return sum(target?.cost ?? NOTHING, cost);
  }

  /** The size of the elements that an index call selects from a list or map. */
  #indexed(call: Call, signature: string): Range | undefined {
    const step = signature.startsWith('_[_](list<')
      ? '@items'
      : signature.startsWith('_[_](map<')
        ? '@values'
        : undefined;
    if (step === undefined) return undefined;
    this.#sizes.setPath(call, [...this.#sizes.path(call.args[0]!), step]);
    return this.#sizes.entriesOf(call.args[0]!)?.value;
  }

  #overload(
    call: Call,
    signature: string,
    { target, args }: { target: Operand | undefined; args: readonly Operand[] },
  ): CallEstimate {
    const below = total(args.map(({ cost }) => cost));
    const [first, second, third] = args;
    switch (call.name) {
      case '_||_':
      case '_&&_':
        return { cost: { min: first!.cost.min, max: sum(first!.cost, second!.cost).max } };
      case '_?_:_':
        return this.#choice(call, first!, [second!, third!]);
      case '_+_':
        return this.#sum(call, signature, [first!, second!]);
      default: {
        const { cost, size } = estimateCall({
          name: call.name,
          signature,
          target,
          args,
          sizeAt: this.#sizeAt,
        });
        return { cost: sum(cost, below), size };
      }
    }
  }

  #choice(call: Call, condition: Operand, [yes, no]: readonly [Operand, Operand]): CallEstimate {
    this.#sizes.setEntries(call, union(this.#sizes.entriesOf(yes.expr), this.#sizes.entriesOf(no.expr)));
    const size = either(yes.size ?? UNKNOWN, no.size ?? UNKNOWN);
    return { cost: sum(condition.cost, either(yes.cost, no.cost)), size };
  }

  #sum(call: Call, signature: string, [left, right]: readonly [Operand, Operand]): CallEstimate {
    const below = sum(left.cost, right.cost);
    if (!/\((?:string|bytes|list)/.test(signature)) return { cost: sum(ONE, below) };
    const size = sum(left.size ?? UNKNOWN, right.size ?? UNKNOWN);
    this.#sizes.setEntries(call, union(this.#sizes.entriesOf(left.expr), this.#sizes.entriesOf(right.expr)));
    if (signature.startsWith('_+_(list')) return { cost: sum(ONE, below), size };
    const traversal = product(size, ONE);
    return {
      cost: sum({ min: Math.ceil(traversal.min / 10), max: Math.ceil(traversal.max / 10) }, below),
      size,
    };
  }

  #list(list: ListExpr): Range {
    const costs: Range[] = [];
    let value: Range = list.items.length === 0 ? NOTHING : { min: MOST, max: 0 };
    for (const item of list.items) {
      costs.push(this.cost(item));
      value = either(value, this.#sizes.size(item) ?? UNKNOWN);
    }
    this.#sizes.setEntries(list, { isList: true, key: ONE, value });
    return total([...costs, LIST]);
  }

  #map(map: MapExpr): Range {
    const costs: Range[] = [];
    const start: Range = map.entries.length === 0 ? NOTHING : { min: MOST, max: 0 };
    let [keys, values] = [start, start];
    for (const { key, value } of map.entries) {
      costs.push(this.cost(key), this.cost(value));
      keys = either(keys, this.#sizes.size(key) ?? UNKNOWN);
      values = either(values, this.#sizes.size(value) ?? UNKNOWN);
    }
    this.#sizes.setEntries(map, { isList: false, key: keys, value: values });
    return total([...costs, MAP]);
  }

  #fold(fold: Fold): Range {
    const { range, init, condition, step, result, accuVar, iterVar, iterVar2 } = fold;
    const before = sum(this.cost(range), this.cost(init));
    this.#sizes.push(accuVar, {
      path: this.#sizes.path(init),
      size: this.#sizes.size(init),
      entries: this.#sizes.entriesOf(init),
    });
    this.#pushVariables(fold);
    const turn = sum(this.cost(condition), this.cost(step));
    this.#sizes.pop(iterVar);
    if (iterVar2 !== undefined) this.#sizes.pop(iterVar2);
    const after = this.cost(result);
    this.#sizes.pop(accuVar);
    const turns = this.#sizes.size(range) ?? UNKNOWN;
    if (init.kind === 'literal') this.#sizes.setSize(fold, this.#sizes.size(init));
    if (init.kind === 'list' || init.kind === 'map') {
      this.#sizes.setSize(fold, turns);
      this.#sizes.setEntries(fold, this.#sizes.entriesOf(step));
    }
    return sum(before, after, product(turns, turn));
  }

  #pushVariables({ range, iterVar, iterVar2 }: Fold): void {
    const path = this.#sizes.path(range);
    const entries = this.#sizes.entriesOf(range);
    const isList = entries?.isList ?? range.type!.kind === 'list';
    const key = {
      size: entries?.key,
      entries: undefined,
      path: [...path, isList ? '@indices' : '@keys'],
    };
    const value = {
      size: entries?.value,
      entries: undefined,
      path: [...path, isList ? '@items' : '@values'],
    };
    if (iterVar2 === undefined) {
      this.#sizes.push(iterVar, isList ? value : key);
      return;
    }
    // Go's append writes the second path over the first unless the length is a power of two.
    const overwrites = (path.length & (path.length - 1)) !== 0;
    this.#sizes.push(iterVar, overwrites ? { ...key, path: value.path } : key);
    this.#sizes.push(iterVar2, value);
  }

  #bind(fold: Fold): Range {
    const { range, init, result, accuVar } = fold;
    const before = sum(this.cost(range), this.cost(init));
    this.#sizes.push(accuVar, {
      path: this.#sizes.path(init),
      size: this.#sizes.size(init),
      entries: this.#sizes.entriesOf(init),
    });
    const cost = sum(before, this.cost(result));
    this.#sizes.pop(accuVar);
    this.#sizes.copySizes(fold, result);
    return cost;
  }
}

/** True for `cel.bind`, which is expanded to a loop over an empty list. */
function isBind({ range, condition, accuVar }: Fold): boolean {
  if (range.kind !== 'list' || range.items.length > 0 || accuVar === '__result__') return false;
  return condition.kind === 'literal' && condition.value === false;
}

function union(a: EntrySizes | undefined, b: EntrySizes | undefined): EntrySizes | undefined {
  if (a === undefined || b === undefined) return undefined;
  return { isList: a.isList, key: either(a.key, b.key), value: either(a.value, b.value) };
}

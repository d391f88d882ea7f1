/**
 * Sizes of the texts that functions return. Upstream: replace and join in apiserver/pkg/cel/library/cost.go (EstimateCallCost).
 */
import { type CallEstimate, type EstimatedCall, itemSize, sizeOf } from './operand.ts';
import { MOST, NOTHING, product, type Range, scaled, sum } from './range.ts';

/** The number of replacements, and the number of characters that are kept. */
interface Replacement {
  readonly count: number;
  readonly kept: number;
}

/** The replacements of the longest result; with minimum and maximum sizes exchanged, of the shortest. */
function replacement(text: number, old: number, keeps: boolean): Replacement {
  if (old === 0) return { count: text < MOST ? text + 1 : text, kept: text };
  return keeps ? { count: 0, kept: text } : { count: Math.ceil(text / old), kept: 0 };
}

/** `replace` traverses the text and constructs the result. */
export function replaceEstimate({ args }: EstimatedCall, text: Range): CallEstimate {
  const [old, inserted] = [sizeOf(args[0]), sizeOf(args[1])];
  const most = replacement(text.max, old.min, inserted.max <= old.min);
  const least = replacement(text.min, old.max, old.max <= inserted.min);
  const counts = { min: least.count, max: most.count };
  return {
    cost: scaled(text, 0.2),
    size: sum(product(counts, inserted), { min: least.kept, max: most.kept }),
  };
}

/** The size of `join`: the items with a separator between each two. */
export function joinEstimate(call: EstimatedCall, list: Range): CallEstimate {
  const item = itemSize(call);
  const items = item === undefined ? NOTHING : product(list, item.size);
  const [separator] = call.args;
  const between = { min: Math.max(0, list.min - 1), max: Math.max(0, list.max - 1) };
  const size = separator === undefined ? items : sum(items, product(sizeOf(separator), between));
  return { cost: scaled(size, 0.1), size };
}

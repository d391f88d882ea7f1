/**
 * The minimum and maximum cost of calls. Upstream: functionCost of cel-go checker/cost.go, ext/{lists,sets}.go and
 * apiserver/pkg/cel/library/cost.go (EstimateCallCost).
 */
import { type CallEstimate, type EstimatedCall, itemSize, type Operand, sizeOf } from './operand.ts';
import { exactly, MOST, product, type Range, scaled, sum } from './range.ts';
import { replaceEstimate, joinEstimate } from './text-estimates.ts';

type Estimator = (call: EstimatedCall, first: Range, second: Range) => CallEstimate;

const ONE = exactly(1);
const LIST = exactly(10);

const tenth = (size: Range): Range => scaled(size, 0.1);
const fixed =
  (cost: Range): Estimator =>
  () => ({ cost });
const traversal: Estimator = (_, first) => ({ cost: tenth(first) });
const sizedTraversal: Estimator = (_, first) => ({ cost: tenth(first), size: first });

/** Upstream assumes that each instruction of a pattern takes four of its characters. */
function searchCost(text: Range, pattern: Range): Range {
  return product(tenth(sum(text, ONE)), scaled(pattern, 0.25));
}

function madeList(size: Range, factor = 1): CallEstimate {
  return { cost: sum(scaled(size, factor), ONE, LIST), size };
}

function literalInt(operand: Operand | undefined): number | undefined {
  const expr = operand?.expr;
  if (expr?.kind !== 'literal' || typeof expr.value !== 'bigint') return undefined;
  return expr.value < 0n ? 0 : Number(expr.value);
}

const ADDRESS: Range = { min: 4, max: 16 };
const contained =
  (isRange: boolean, isText: boolean): Estimator =>
  ({ args }) => {
    const compared = tenth(sum(ADDRESS, ADDRESS));
    const masked = isRange ? [tenth(ADDRESS), ONE] : [];
    return { cost: sum(compared, ...masked, ...(isText ? [tenth(sizeOf(args[0]))] : [])) };
  };

/** One unit for each item of a list, and the cost of comparing its texts; for a text, one traversal. */
const scan: Estimator = (call, first) => {
  const item = itemSize(call);
  if (item === undefined) return { cost: tenth(first) };
  const isText = item.type.kind === 'string' || item.type.kind === 'bytes';
  return { cost: product(first, isText ? sum(ONE, tenth(item.size)) : ONE) };
};

const selector: Estimator = (_, __, second) => ({
  cost: sum(LIST, tenth(second), scaled(scaled(second, 0.5), 50)),
});

const split: Estimator = ({ args }, first) => {
  const most = args[1] === undefined ? undefined : literalLimit(args[1]);
  return { cost: scaled(first, 0.2), size: { min: 0, max: most ?? first.max } };
};

/** As upstream, a negative limit is converted to a huge unsigned number. */
function literalLimit({ expr }: Operand): number | undefined {
  if (expr.kind !== 'literal' || typeof expr.value !== 'bigint') return undefined;
  return Number(BigInt.asUintN(64, expr.value));
}

const find: Estimator = (_, first, second) => ({
  cost: searchCost(first, second),
  size: { min: 0, max: first.max },
});

const FORMAT_PATTERN = 128 / 4;
const validate: Estimator = (_, __, second) => ({ cost: scaled(tenth(second), FORMAT_PATTERN) });

const slice: Estimator = ({ args }, first) => {
  const size = (literalInt(args[1]) ?? first.max) - (literalInt(args[0]) ?? 0);
  // Upstream subtracts unsigned integers, so a negative difference wraps to a huge size.
  return madeList(exactly(size < 0 ? MOST : size));
};
const flatten: Estimator = ({ args }, first) => madeList(first, args.length === 0 ? 1 : (literalInt(args[0]) ?? MOST));
const selfCompare = (size: Range, signature: string): CallEstimate => {
  const isText = /list<(?:string|bytes)>[).]/.test(signature);
  return madeList(product(size, size), isText ? 2.1 : 2);
};

/** Estimators by function name, for all overloads. */
const BY_NAME: ReadonlyMap<string, Estimator> = new Map([
  ...named('check', fixed(exactly(350_000))),
  ...named('fieldSelector labelSelector', selector),
  ...named('isSorted sum max min indexOf lastIndexOf', scan),
  ...named('url jsonpatch.escapeKey lowerAscii upperAscii substring trim', sizedTraversal),
  ...named('replace', replaceEstimate),
  ...named('split', split),
  ...named('join', joinEstimate),
  ...named('find findAll', find),
  ...named('cidr isIP isCIDR quantity isQuantity semver isSemver', traversal),
  ...named('ip.isCanonical', (_, first) => ({ cost: scaled(first, 0.2) })),
  ...named('validate', validate),
  ...named('sort', ({ signature }, first) => selfCompare(first, signature)),
  ...named('@sortByAssociatedKeys', ({ signature }, _, second) => selfCompare(second, signature)),
]);

/** Estimators by the signature of one overload. */
const BY_SIGNATURE: ReadonlyMap<string, Estimator> = new Map([
  ...signed('list<T>.slice(int, int): list<T>', slice),
  ...signed('list<list<T>>.flatten(): list<T>', flatten),
  ...signed('list<dyn>.flatten(int): list<dyn>', flatten),
  ...signed('lists.range(int): list<int>', ({ args }) => madeList(exactly(literalInt(args[0]) ?? MOST))),
  ...signed('list<T>.reverse(): list<T>', (_, first) => madeList(first)),
  ...signed('list<T>.distinct(): list<T>', (_, first) => madeList(product(first, first), 2)),
  ...signed('sets.contains(list<T>, list<T>): bool', (_, a, b) => ({
    cost: sum(product(a, b), ONE),
  })),
  ...signed('sets.intersects(list<T>, list<T>): bool', (_, a, b) => ({
    cost: sum(product(a, b), ONE),
  })),
  ...signed('sets.equivalent(list<T>, list<T>): bool', (_, a, b) => ({
    cost: sum(scaled(product(a, b), 2), ONE),
  })),
  ...signed('ip(string): net.IP', traversal),
  ...signed('net.CIDR.containsIP(net.IP): bool', contained(false, false)),
  ...signed('net.CIDR.containsIP(string): bool', contained(false, true)),
  ...signed('net.CIDR.containsCIDR(net.CIDR): bool', contained(true, false)),
  ...signed('net.CIDR.containsCIDR(string): bool', contained(true, true)),
  ...signed('string.format(list<dyn>): string', traversal),
  ...signed('bytes(string): bytes', (_, first) => ({
    cost: tenth(first),
    size: { min: first.min, max: Math.min(MOST, first.max * 4) },
  })),
  ...signed('string(bytes): string', (_, first) => ({
    cost: tenth(first),
    size: { min: Math.floor(first.min / 4), max: first.max },
  })),
  ...signed('strings.quote(string): string', (_, first) => ({
    cost: tenth(first),
    size: { min: first.min + 2, max: Math.min(MOST, first.max * 2 + 2) },
  })),
  ...signed('string.startsWith(string): bool', (_, __, second) => ({ cost: tenth(second) })),
  ...signed('string.endsWith(string): bool', (_, __, second) => ({ cost: tenth(second) })),
  ...signed('@in(A, list<A>): bool', (_, __, second) => ({ cost: second })),
  ...signed('string.matches(string): bool', (_, first, second) => ({
    cost: searchCost(first, second),
  })),
  ...signed('string.contains(string): bool', (_, first, second) => ({
    cost: product(tenth(first), tenth(second)),
  })),
  ...signed('_==_(A, A): bool', equality),
  ...signed('_!=_(A, A): bool', (_, a, b) => ({ cost: comparison(a, b) })),
  ...['_<_', '_<=_', '_>_', '_>=_'].flatMap((operator) =>
    ['string', 'bytes'].flatMap((type) =>
      signed(`${operator}(${type}, ${type}): bool`, (_, a, b) => ({ cost: comparison(a, b) })),
    ),
  ),
]);

function named(names: string, estimator: Estimator): [string, Estimator][] {
  return names.split(' ').map((name) => [name, estimator]);
}

function signed(signature: string, estimator: Estimator): [string, Estimator][] {
  return [[signature, estimator]];
}

/** The cost of one overload of a call; 1 for an overload without an estimator. */
export function estimateCall(call: EstimatedCall): CallEstimate {
  const operands = call.target === undefined ? call.args : [call.target, ...call.args];
  const estimator = BY_SIGNATURE.get(call.signature) ?? BY_NAME.get(call.name);
  return estimator?.(call, sizeOf(operands[0]), sizeOf(operands[1])) ?? { cost: ONE };
}

function comparison(a: Range, b: Range): Range {
  const max = Math.min(a.max, b.max);
  return tenth({ min: max > 0 ? 1 : 0, max });
}

/** Types whose values are compared in constant time. */
const AT_ONCE = /^(?:kubernetes\.(?:Quantity|Semver|authorization\.\w+)|net\.(?:IP|CIDR))$/;

function equality({ args }: EstimatedCall, a: Range, b: Range): CallEstimate {
  const [left, right] = args as [Operand, Operand];
  const { name } = left.type;
  if (name !== right.type.name) return { cost: comparison(a, b) };
  if (AT_ONCE.test(name)) return { cost: ONE };
  if (name === 'kubernetes.NamedFormat') return { cost: tenth({ min: 1, max: 64 }) };
  if (name === 'kubernetes.URL') return { cost: tenth({ min: 1, max: right.size?.max ?? 1 }) };
  return { cost: comparison(a, b) };
}

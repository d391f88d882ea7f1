/**
 * The cost of calls at run time. Upstream: cel-go interpreter/runtimecost.go, ext/{lists,sets}.go and
 * apiserver/pkg/cel/library/cost.go (CallCost).
 */
import { walkWork } from '../meter.ts';
import { sizeOf, smallerSizeOf, wideSizeOf } from './size-of.ts';
import { isCelObject, isMapValue, mapEntries, TYPE_NAME } from './values.ts';

/** A call by its function and, when only one applies, its overload. */
export interface PricedCall {
  readonly name: string;
  readonly signature: string;
}

/** A price that is computed from the arguments, or from the result. */
export interface Price {
  readonly before?: (args: readonly unknown[]) => number;
  readonly after?: (result: unknown) => number;
}

type Cost = (args: readonly unknown[]) => number;

const tenth = (size: number): number => Math.ceil(size / 10);
const fixed =
  (cost: number): Cost =>
  () =>
    cost;
const traversal =
  (times = 1): Cost =>
  ([first]) =>
    Math.ceil((sizeOf(first) * times) / 10);
const LIST = 10;

const search: Cost = ([text, pattern]) => tenth(1 + sizeOf(text)) * Math.ceil(sizeOf(pattern) / 4);
const deepTraversal: Cost = ([value]) => traversed(value);
const smaller: Cost = ([a, b]) => tenth(smallerSizeOf(a, b));
const joined: Cost = ([a, b]) => tenth(wideSizeOf(a) + wideSizeOf(b));
const containsRange =
  (more: number, isText: boolean): Cost =>
  ([cidr, other]) => {
    const size = sizeOf(cidr);
    return tenth(size * 2) + (more === 0 ? 0 : tenth(size) + more) + (isText ? tenth(sizeOf(other)) : 0);
  };

/** The price of comparing each item with every other. */
function selfCompare(list: unknown): number {
  if (!Array.isArray(list)) return LIST + 1;
  const isText = typeof list[0] === 'string' || list[0] instanceof Uint8Array;
  return Math.trunc(list.length ** 2 * (isText ? 2.1 : 2)) + LIST + 1;
}

const selector: Cost = ([, text]) => {
  const size = sizeOf(text);
  return LIST + tenth(size) + Math.ceil(Math.ceil(size / 2) * 50);
};
const sets =
  (factor: number): Cost =>
  ([a, b]) =>
    1 + Math.trunc(sizeOf(a) * sizeOf(b) * factor);
const flatten: Cost = ([list, depth]) => Math.trunc(sizeOf(list) * Number(depth ?? 1)) + LIST + 1;
const made = (result: unknown): number => sizeOf(result) + LIST + 1;

/** Prices by function name, for all overloads. */
const BY_NAME: ReadonlyMap<string, Price> = new Map([
  ...named('check', fixed(350_000)),
  ...named('fieldSelector labelSelector', selector),
  ...named('isSorted sum max min indexOf lastIndexOf', deepTraversal),
  ...named('url lowerAscii upperAscii substring trim jsonpatch.escapeKey', traversal()),
  ...named('replace split ip.isCanonical', traversal(2)),
  ...named('find findAll', search),
  ...named('cidr isIP isCIDR quantity isQuantity semver isSemver', traversal()),
  ...named('_==_', equality),
  ...named('_!=_', smaller),
  ['join', { after: (result: unknown) => Math.ceil((sizeOf(result) * 2) / 10) }],
]);

/** Prices by overload. An overload without a price has that of its function's name. */
const BY_SIGNATURE: ReadonlyMap<string, Price> = new Map([
  ...signed(['ip(string): net.IP'], traversal()),
  ...signed(['net.CIDR.containsIP(net.IP): bool'], containsRange(0, false)),
  ...signed(['net.CIDR.containsIP(string): bool'], containsRange(0, true)),
  ...signed(['net.CIDR.containsCIDR(net.CIDR): bool'], containsRange(1, false)),
  ...signed(['net.CIDR.containsCIDR(string): bool'], containsRange(1, true)),
  ...signed(['string.startsWith(string): bool', 'string.endsWith(string): bool'], traversal()),
  ...signed(['bytes(string): bytes', 'string(bytes): string', 'strings.quote(string): string'], traversal()),
  ...signed(['string.format(list<dyn>): string'], traversal()),
  ...signed(['@in(A, list<A>): bool'], ([, list]) => sizeOf(list)),
  ...signed(['_+_(string, string): string', '_+_(bytes, bytes): bytes'], joined),
  ...signed(['string.matches(string): bool', 'matches(string, string): bool'], search),
  ...signed(['string.contains(string): bool'], ([a, b]) => tenth(sizeOf(a)) * tenth(sizeOf(b))),
  ...signed(['list<T>.distinct(): list<T>'], ([list]) => selfCompare(list)),
  ...signed(['list<list<T>>.flatten(): list<T>', 'list<dyn>.flatten(int): list<dyn>'], flatten),
  ...signed(['sets.contains(list<T>, list<T>): bool', 'sets.intersects(list<T>, list<T>): bool'], sets(1)),
  ...signed(['sets.equivalent(list<T>, list<T>): bool'], sets(2)),
  ...orderedComparisons(),
  ['list<T>.slice(int, int): list<T>', { after: made }],
  ['lists.range(int): list<int>', { before: ([count]) => Math.max(0, Number(count)) + LIST + 1 }],
  ['list<T>.reverse(): list<T>', { after: made }],
]);

function orderedComparisons(): [string, Price][] {
  const operators = ['_<_', '_<=_', '_>_', '_>=_'];
  const types = ['string', 'bytes'];
  return signed(
    operators.flatMap((operator) => types.map((type) => `${operator}(${type}, ${type}): bool`)),
    smaller,
  );
}

function named(names: string, before: Cost): [string, Price][] {
  return names.split(' ').map((name) => [name, { before }]);
}

function signed(signatures: readonly string[], before: Cost): [string, Price][] {
  return signatures.map((signature) => [signature, { before }]);
}

const ONE: Price = { before: fixed(1) };

/** The price of a call; most calls cost one. */
export function callPrice({ name, signature }: PricedCall): Price {
  if (name === 'ip' && signature === '')
    return { before: ([first]) => (typeof first === 'string' ? tenth(sizeOf(first)) : 1) };
  if (name === 'validate') return { before: validation };
  if (signature !== '' && (name === 'sort' || name === '@sortByAssociatedKeys'))
    return { before: (args) => selfCompare(args[name === 'sort' ? 0 : 1]) };
  if (name === 'containsIP' && signature === '') return { before: containsRange(0, false) };
  if (name === 'containsCIDR' && signature === '') return { before: containsRange(1, false) };
  return BY_SIGNATURE.get(signature) ?? BY_NAME.get(name) ?? ONE;
}

/** As upstream, the length of a named format's regular expression is estimated by the name. */
function validation([format, text]: readonly unknown[]): number {
  const size = (format as { readonly patternSize?: number }).patternSize;
  if (size === undefined) return 1;
  return tenth(1 + sizeOf(text)) * Math.ceil(size / 4);
}

/** Types of the Kubernetes libraries (URL, IP, CIDR, quantity ...): a comparison costs one unit for any value. */
const AT_ONCE = /^(?:kubernetes\.|net\.)/;

function equality(args: readonly unknown[]): number {
  const [left] = args;
  return isCelObject(left) && AT_ONCE.test(left[TYPE_NAME]) ? 1 : smaller(args);
}

/** One unit for each nested scalar, and a tenth for each byte of text. */
function traversed(value: unknown): number {
  if (typeof value === 'string') return Math.trunc(Buffer.byteLength(value) / 10);
  if (value instanceof Uint8Array) return Math.trunc(value.length / 10);
  let sum = 0;
  if (Array.isArray(value))
    for (const item of value) {
      walkWork(3);
      sum += traversed(item);
    }
  else if (isMapValue(value))
    for (const [key, item] of mapEntries(value)) {
      walkWork(3);
      sum += traversed(key) + traversed(item);
    }
  else sum = 1;
  return sum;
}

/**
 * The routes of one host in order. Exact paths and prefixes are indexed, so that thousands of paths cost a request as little as a
 * few; regular expressions are tried one by one.
 */
import type { Route } from '../snapshot/snapshot.ts';
import type { MatchWork } from './match-work.ts';

interface Entry<T> {
  readonly order: number;
  readonly value: T;
}

export class HostRoutes<T> {
  readonly #exact = new Map<string, Entry<T>[]>();
  /** Keys have no trailing slash. */
  readonly #prefixes = new Map<string, Entry<T>[]>();
  readonly #expressions: Entry<T>[] = [];
  #size = 0;
  /** The maximum number of slashes in a prefix. */
  #depth = 0;

  add({ type, value: text }: Route['match']['path'], value: T): void {
    const entry = { order: this.#size++, value };
    if (type === 'regex') this.#expressions.push(entry);
    else if (type === 'exact') addTo(this.#exact, text, entry);
    else {
      const prefix = text.endsWith('/') ? text.slice(0, -1) : text;
      this.#depth = Math.max(this.#depth, prefix.split('/').length - 1);
      addTo(this.#prefixes, prefix, entry);
    }
  }

  /**
   * The first route that fits the path and for which `matches` is true. The path of a regular expression is checked by `matches`.
   * Meaningless once the work is spent.
   */
  find(path: string, matches: (value: T) => boolean, work: MatchWork): T | undefined {
    const lists = this.#listsFor(path, work);
    const heads = lists.map(() => 0);
    while (work.compare(1) && work.step(lists.length)) {
      const first = firstInOrder(lists, heads);
      if (first < 0) return undefined;
      const { value } = lists[first]![heads[first]!++]!;
      if (matches(value)) return value;
    }
    return undefined;
  }

  #listsFor(path: string, work: MatchWork): (readonly Entry<T>[])[] {
    const lists = [this.#exact.get(path), this.#expressions];
    // "/a" and "/a/" are the same prefix; "/ab" does not have it.
    let end = path.indexOf('/');
    for (let slashes = 0; end >= 0 && slashes <= this.#depth && work.step(1 + end / 100); slashes++) {
      lists.push(this.#prefixes.get(path.slice(0, end)));
      end = path.indexOf('/', end + 1);
    }
    if (end < 0) lists.push(this.#prefixes.get(path));
    return lists.filter((list) => list !== undefined && list.length > 0) as Entry<T>[][];
  }
}

/** The list whose next entry comes first, or -1 when all are at their ends. */
function firstInOrder(lists: readonly (readonly Entry<unknown>[])[], heads: readonly number[]): number {
  let first = -1;
  let order = Infinity;
  for (let at = 0; at < lists.length; at++) {
    const entry = lists[at]![heads[at]!];
    if (entry === undefined || entry.order >= order) continue;
    first = at;
    ({ order } = entry);
  }
  return first;
}

function addTo<T>(map: Map<string, Entry<T>[]>, key: string, entry: Entry<T>): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [entry]);
  else list.push(entry);
}

/**
 * The routes of one host in order. Exact paths and prefixes are indexed, so that thousands of paths cost a request as little as a
 * few; regular expressions are tried one by one.
 */
import type { Route } from '../snapshot/snapshot.ts';

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
   */
  find(path: string, matches: (value: T) => boolean): T | undefined {
    const lists = this.#listsFor(path);
    const heads = lists.map(() => 0);
    for (;;) {
      let first = -1;
      for (const [at, list] of lists.entries()) {
        const entry = list[heads[at]!];
        if (entry !== undefined && (first < 0 || entry.order < lists[first]![heads[first]!]!.order)) first = at;
      }
      if (first < 0) return undefined;
      const { value } = lists[first]![heads[first]!++]!;
      if (matches(value)) return value;
    }
  }

  #listsFor(path: string): (readonly Entry<T>[])[] {
    const lists = [this.#exact.get(path), this.#expressions];
    // "/a" and "/a/" are the same prefix; "/ab" does not have it.
    let end = path.indexOf('/');
    for (let slashes = 0; end >= 0 && slashes <= this.#depth; slashes++) {
      lists.push(this.#prefixes.get(path.slice(0, end)));
      end = path.indexOf('/', end + 1);
    }
    if (end < 0) lists.push(this.#prefixes.get(path));
    return lists.filter((list) => list !== undefined && list.length > 0) as Entry<T>[][];
  }
}

function addTo<T>(map: Map<string, Entry<T>[]>, key: string, entry: Entry<T>): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [entry]);
  else list.push(entry);
}

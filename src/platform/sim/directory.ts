/**
 * The names in a directory, in the order of creation. Most directories of a simulated machine hold one to three
 * names, and thousands of machines hold a million directories: linked inodes need no list at all. With many names a
 * Map takes over.
 */

/** A named entry. It is in at most one directory, and only the functions below change this. */
export interface Sibling<N> {
  name: string;
  /** The entry added after it to its directory, unless that is a map. */
  next: N | undefined;
}

/** The first entry, or a map. Change it only with the functions below. */
export type Directory<N> = N | Map<string, N> | undefined;

/** A directory without entries. */
export const EMPTY_DIRECTORY: undefined = undefined;

const MOST_IN_A_CHAIN = 8;

export function childOf<N extends Sibling<N>>(directory: Directory<N>, name: string): N | undefined {
  if (directory instanceof Map) return directory.get(name);
  let child = directory;
  while (child !== undefined && child.name !== name) child = child.next;
  return child;
}

/** The directory with the entry, which is appended unless it exists. Do not use the former directory any more. */
export function withChild<N extends Sibling<N>>(directory: Directory<N>, name: string, child: N): Directory<N> {
  const isElsewhere = child.name !== name && childOf(directory, child.name) === child;
  const rest = isElsewhere ? withoutChild(directory, child.name) : directory;
  child.name = name;
  if (rest instanceof Map) return rest.set(name, child);
  const isNew = childOf(rest, name) === undefined;
  if (isNew && appended(rest, child)) return rest ?? child;
  const children = chained(rest);
  const at = isNew ? children.length : children.findIndex((other) => other.name === name);
  const [replaced] = children.splice(at, 1, child);
  if (replaced !== undefined) replaced.next = undefined;
  if (children.length > MOST_IN_A_CHAIN) return mapOf(children);
  return chain(children);
}

/** Appends the entry to a chain that has room for it. */
function appended<N extends Sibling<N>>(first: N | undefined, child: N): boolean {
  let [last, count] = [first, 1];
  for (; last?.next !== undefined; count++) last = last.next;
  if (count >= MOST_IN_A_CHAIN) return false;
  if (last !== undefined) last.next = child;
  child.next = undefined;
  return true;
}

/** The directory without the entry. Do not use the former directory any more. */
export function withoutChild<N extends Sibling<N>>(directory: Directory<N>, name: string): Directory<N> {
  if (directory instanceof Map) {
    directory.delete(name);
    return directory;
  }
  const children = chained(directory);
  const at = children.findIndex((child) => child.name === name);
  if (at < 0) return directory;
  // It may stay open for long, and children are searched from the end.
  children.splice(at, 1)[0]!.next = undefined;
  return chain(children);
}

/** How many names there are. */
export function childCount<N extends Sibling<N>>(directory: Directory<N>): number {
  return directory instanceof Map ? directory.size : chained(directory).length;
}

/** The entries sorted by name. */
export function childrenOf<N extends Sibling<N>>(directory: Directory<N>): N[] {
  return directory instanceof Map ? [...directory.values()] : chained(directory);
}

function chained<N extends Sibling<N>>(first: N | undefined): N[] {
  const children: N[] = [];
  for (let child = first; child !== undefined; child = child.next) children.push(child);
  return children;
}

function chain<N extends Sibling<N>>(children: readonly N[]): N | undefined {
  children.forEach((child, index) => (child.next = children[index + 1]));
  return children[0];
}

function mapOf<N extends Sibling<N>>(children: readonly N[]): Map<string, N> {
  for (const child of children) child.next = undefined;
  return new Map(children.map((child) => [child.name, child]));
}

/**
 * The names in a directory, in the order they came. Most directories of a simulated machine hold a name or three, and
 * thousands of machines hold a million directories: a flat list takes a third of a Map, which takes over when it grows.
 */

/** Names and what they lead to: `[name, node, name, node…]`, or a map. Change it only with the functions below. */
export type Directory<N> = readonly (string | N)[] | Map<string, N>;

/** Without any name. */
export const EMPTY_DIRECTORY: readonly never[] = [];

const MOST_IN_A_LIST = 8;

/** What the name leads to. */
export function childOf<N>(directory: Directory<N>, name: string): N | undefined {
  if (directory instanceof Map) return directory.get(name);
  for (let index = 0; index < directory.length; index += 2)
    if (directory[index] === name) return directory[index + 1] as N;
  return undefined;
}

/** The directory with the name, which goes last unless it was there. The one given is no longer to be used. */
export function withChild<N>(directory: Directory<N>, name: string, child: N): Directory<N> {
  if (directory instanceof Map) return directory.set(name, child);
  const index = directory.indexOf(name);
  if (index >= 0) return directory.with(index + 1, child);
  // An array made at its length has no room to spare, as one that is pushed to has.
  if (directory.length < 2 * MOST_IN_A_LIST) return directory.concat([name, child]);
  return new Map(childrenOf(directory)).set(name, child);
}

/** The directory without the name. The one given is no longer to be used. */
export function withoutChild<N>(directory: Directory<N>, name: string): Directory<N> {
  if (directory instanceof Map) {
    directory.delete(name);
    return directory;
  }
  const index = directory.indexOf(name);
  return index < 0 ? directory : directory.toSpliced(index, 2);
}

/** How many names there are. */
export function childCount<N>(directory: Directory<N>): number {
  return directory instanceof Map ? directory.size : directory.length / 2;
}

/** Names with what they lead to, in order. */
export function childrenOf<N>(directory: Directory<N>): [string, N][] {
  if (directory instanceof Map) return [...directory];
  const children: [string, N][] = [];
  for (let index = 0; index < directory.length; index += 2)
    children.push([directory[index] as string, directory[index + 1] as N]);
  return children;
}

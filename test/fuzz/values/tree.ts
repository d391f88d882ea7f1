// JSON documents that plain objects cannot represent: repeated and reordered keys, `__proto__`, numbers beyond doubles.

/** Text that is inserted into the document unchanged. */
export class Raw {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** An object by its members, in order, including repeated ones. */
export class Members {
  readonly entries: [key: string, value: Tree][];
  constructor(entries: [key: string, value: Tree][]) {
    this.entries = entries;
  }
}

export type Tree = Raw | Members | Tree[] | string | number | boolean | null;

/** A place of a document: a container and a position in it. */
export interface Place {
  readonly container: Members | Tree[];
  readonly at: number;
}

export function treeOf(value: unknown): Tree {
  if (value instanceof Raw || value instanceof Members) return value;
  if (Array.isArray(value)) return value.map((item) => treeOf(item));
  if (typeof value === 'bigint') return new Raw(String(value));
  if (typeof value !== 'object' || value === null) return (value ?? null) as Tree;
  return new Members(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .map(([key, inner]) => [key, treeOf(inner)]),
  );
}

export function valueAt({ container, at }: Place): Tree {
  return container instanceof Members ? container.entries[at]![1] : container[at]!;
}

export function setAt({ container, at }: Place, value: Tree): void {
  if (container instanceof Members) container.entries[at]![1] = value;
  else container[at] = value;
}

/** Every place of the document. */
export function placesOf(tree: Tree): Place[] {
  const places: Place[] = [];
  const visit = (node: Tree): void => {
    if (node instanceof Members)
      for (const [at, [, value]] of node.entries.entries()) {
        places.push({ container: node, at });
        visit(value);
      }
    else if (Array.isArray(node))
      for (const [at, value] of node.entries()) {
        places.push({ container: node, at });
        visit(value);
      }
  };
  visit(tree);
  return places;
}

/** The document as JSON text; lone surrogates become escapes, because UTF-8 cannot represent them. */
export function writeTree(tree: Tree): string {
  if (tree instanceof Raw) return tree.text;
  if (tree instanceof Members)
    return `{${tree.entries.map(([key, value]) => `${JSON.stringify(key)}:${writeTree(value)}`).join(',')}}`;
  if (Array.isArray(tree)) return `[${tree.map((item) => writeTree(item)).join(',')}]`;
  return Object.is(tree, -0) ? '-0' : JSON.stringify(tree);
}

// Sets of field paths in the form that the API uses (FieldsV1): nested objects keyed by path elements (`f:name`,
// `k:{"name":"a"}`, `v:"x"`, `i:0`). An empty object is a path of the set; `.` marks a path that has longer ones below it. So
// nothing is decoded or encoded. All operations are pure and share unchanged parts. Upstream:
// structured-merge-diff/fieldpath.Set.

import { MAX_PATH_LENGTH } from '../codec/json-parser.ts';
import { stringifyJson } from '../codec/json.ts';

/** A node of a set. */
export type FieldNode = { readonly [element: string]: FieldNode };

/** Undefined is the empty set. */
export type FieldSet = FieldNode | undefined;

/** The node of a path without longer paths below it. */
export const leaf: FieldNode = Object.freeze({});

/** The element that makes a node with longer paths below it a path itself. */
export const SELF = '.';

/** Whether the path of this node is itself in the set. */
export function isMember(node: FieldNode): boolean {
  return Object.hasOwn(node, SELF) || isLeaf(node);
}

/** Whether the node has no elements. A loop, because Object.keys lists all of them. */
export function isLeaf(node: object): boolean {
  for (const _ in node) return false;
  return true;
}

/** A node from its parts; undefined for an empty set. */
export function nodeOf(member: boolean, children: Record<string, FieldNode> | undefined): FieldSet {
  if (children === undefined || isLeaf(children)) return member ? leaf : undefined;
  return member ? { [SELF]: leaf, ...children } : children;
}

/** The elements of a node, without the mark of its own path. */
export function elements(node: FieldNode): string[] {
  const keys = Object.keys(node);
  return Object.hasOwn(node, SELF) ? keys.filter((key) => key !== SELF) : keys;
}

/** The paths of either set. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === undefined || a === b) return b;
  if (b === undefined) return a;
  let children: Record<string, FieldNode> | undefined;
  for (const key in b) {
    if (key === SELF) continue;
    const merged = union(a[key], b[key]);
    if (merged !== a[key]) (children ??= childrenOf(a))[key] = merged as FieldNode;
  }
  const member = isMember(a) || isMember(b);
  if (children === undefined && member === isMember(a)) return a;
  return nodeOf(member, children ?? childrenOf(a));
}

/** The paths of all sets. Linear in the total size: a sequence of unions of two would copy large sets each time. */
export function unionAll(sets: Iterable<FieldSet>): FieldSet {
  const own = new Set<FieldNode>();
  let out: FieldSet;
  for (const set of sets) out = addTo(out, set, own);
  return out;
}

/**
 * Adds `b` to `a`. Nodes in `own` are changed in place; they are never empty, which is not checked, because listing the keys of a
 * large node is slow.
 */
function addTo(a: FieldSet, b: FieldSet, own: Set<FieldNode>): FieldSet {
  if (a === undefined || a === b) return b;
  if (b === undefined) return a;
  const wasMember = own.has(a) ? Object.hasOwn(a, SELF) : isMember(a);
  if (wasMember && isLeaf(b)) return a;
  const member = wasMember || isMember(b);
  const isReady = own.has(a) && Object.hasOwn(a, SELF) === member;
  const node: Record<string, FieldNode> = isReady ? a : { ...(member && { [SELF]: leaf }), ...a };
  own.add(node);
  for (const key in b) if (key !== SELF) node[key] = addTo(node[key], b[key], own) as FieldNode;
  return node;
}

function childrenOf(node: FieldNode): Record<string, FieldNode> {
  const out: Record<string, FieldNode> = {};
  for (const key in node) if (key !== SELF) out[key] = node[key] as FieldNode;
  return out;
}

/** Paths of `a` that are not in `b`. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  return subtract(a, b, false);
}

/** Paths of `a` that are neither in `b` nor below a path of `b`. */
export function recursiveDifference(a: FieldSet, b: FieldSet): FieldSet {
  return subtract(a, b, true);
}

function subtract(a: FieldSet, b: FieldSet, recursive: boolean): FieldSet {
  if (a === undefined || b === undefined) return a;
  if (recursive && isMember(b)) return undefined;
  const member = isMember(a) && !isMember(b);
  let changes: Map<string, FieldSet> | undefined;
  let visited = 0;
  for (const key in b) {
    if (++visited > WIDE) {
      changes = changesBelow(a, b, recursive);
      break;
    }
    const before = a[key];
    if (before === undefined || key === SELF) continue;
    const after = subtract(before, b[key], recursive);
    if (after !== before) (changes ??= new Map()).set(key, after);
  }
  if (changes === undefined) return member === isMember(a) ? a : nodeOf(member, childrenOf(a));
  const children: Record<string, FieldNode> = {};
  for (const key in a) {
    if (key === SELF) continue;
    const node = changes.has(key) ? changes.get(key) : a[key];
    if (node !== undefined) children[key] = node;
  }
  return nodeOf(member, children);
}

/**
 * From this width on, an operation is linear in the smaller set: the small sets of many managers are compared with one wide set.
 */
const WIDE = 100;

function changesBelow(a: FieldNode, b: FieldNode, recursive: boolean): Map<string, FieldSet> | undefined {
  const changes = new Map<string, FieldSet>();
  for (const key in a) {
    const gone = key === SELF ? undefined : b[key];
    if (gone === undefined) continue;
    const after = subtract(a[key], gone, recursive);
    if (after !== a[key]) changes.set(key, after);
  }
  return changes.size === 0 ? undefined : changes;
}

/** The paths that both sets have. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (a === undefined || b === undefined) return undefined;
  if (a === b) return a;
  const children: Record<string, FieldNode> = {};
  for (const key of elements(a)) {
    const both = intersection(a[key], b[key]);
    if (both !== undefined) children[key] = both;
  }
  return nodeOf(isMember(a) && isMember(b), children);
}

/** Whether two sets hold the same paths. */
export function sameSet(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined || isMember(a) !== isMember(b)) return false;
  const keys = elements(a);
  return keys.length === elements(b).length && keys.every((key) => sameSet(a[key], b[key]));
}

/** The paths of a set as lists of elements, in upstream's order: those of a level, sorted, before the deeper ones. */
export function pathsOf(set: FieldSet, prefix: readonly string[] = []): string[][] {
  if (set === undefined) return [];
  const keys = elements(set).sort();
  const here = keys.filter((key) => isMember(set[key] as FieldNode)).map((key) => [...prefix, key]);
  return [...here, ...keys.flatMap((key) => pathsOf(set[key], [...prefix, key]))];
}

/** A set of plain field paths: `fieldsOf('status', 'metadata.name')`. */
export function fieldsOf(...paths: readonly string[]): FieldSet {
  let out: FieldSet;
  for (const path of paths) {
    const names = path.split('.').reverse();
    out = union(
      out,
      names.reduce<FieldNode>((inner, name) => ({ [`f:${name}`]: inner }), leaf),
    );
  }
  return out;
}

/** A path as upstream prints it: `.spec.containers[name="a"].image`; truncated when it is very long. */
export function formatFieldPath(path: readonly string[]): string {
  let out = '';
  for (const element of path) {
    out += formatElement(element);
    if (out.length > MAX_PATH_LENGTH) return `${out.slice(0, MAX_PATH_LENGTH)}…`;
  }
  return out;
}

function formatElement(element: string): string {
  // Longer elements are truncated, so parsing the rest for each path below them would be wasted.
  const rest = element.slice(2, MAX_PATH_LENGTH + 3);
  if (element.length > rest.length + 2) return element.startsWith('f:') ? `.${rest}` : `[${rest}`;
  if (element.startsWith('f:')) return `.${rest}`;
  if (element.startsWith('k:')) {
    const keys = Object.entries(JSON.parse(rest) as Record<string, unknown>);
    return `[${keys.map(([name, value]) => `${name}=${stringifyJson(value)}`).join(',')}]`;
  }
  return element.startsWith('v:') ? `[=${rest}]` : `[${rest}]`;
}

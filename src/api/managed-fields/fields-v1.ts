/**
 * Reads `fieldsV1` from clients and the store. Upstream: fieldpath.Set.FromJSON and DeserializePathElement of
 * structured-merge-diff.
 */
import { parseJson } from '../codec/json.ts';
import { isObject } from '../codec/own-property.ts';
import { leaf, SELF, type FieldNode, type FieldSet } from './field-set.ts';

/** Nodes that were read before and need no second traversal. */
const wellFormed = new WeakSet<object>();

/** The set; `malformed` where upstream's decoder fails. Elements of unknown kinds are left out with everything below them. */
export function readFieldsV1(fields: unknown): { readonly set: FieldSet } | 'malformed' {
  if (fields === undefined) return { set: undefined };
  const node = readNode(fields);
  if (node === undefined) return 'malformed';
  const isEmpty = Object.keys(node).every((key) => key === SELF);
  return { set: isEmpty ? undefined : node };
}

function readNode(value: unknown): FieldNode | undefined {
  if (value === null) return leaf;
  if (!isObject(value)) return undefined;
  const keys = Object.keys(value);
  // There are thousands of leaves, and reading one again is faster than a lookup in a set.
  if (keys.length === 0) return value as FieldNode;
  if (wellFormed.has(value)) return value as FieldNode;
  /** Created when the first part differs from its input. */
  let read: Record<string, FieldNode> | undefined;
  for (const [index, key] of keys.entries()) {
    const child = readChild(key, value[key]);
    if (child === 'malformed') return undefined;
    if (read === undefined && child !== value[key]) read = partsBefore(value, keys, index);
    if (read !== undefined && child !== undefined) read[key] = child;
  }
  const node = read ?? (value as FieldNode);
  wellFormed.add(node);
  return node;
}

/** The node below an element; undefined when the element is left out. */
function readChild(key: string, value: unknown): FieldNode | 'malformed' | undefined {
  if (key === SELF) return isObject(value) && Object.keys(value).length === 0 ? (value as FieldNode) : leaf;
  const kind = kindOf(key);
  if (kind === 'malformed') return 'malformed';
  if (kind === 'unknown') return undefined;
  return readNode(value) ?? 'malformed';
}

function partsBefore(value: Record<string, unknown>, keys: readonly string[], end: number): Record<string, FieldNode> {
  return Object.fromEntries(keys.slice(0, end).map((key) => [key, value[key] as FieldNode]));
}

function kindOf(element: string): 'known' | 'unknown' | 'malformed' {
  if (element[1] !== ':') return 'malformed';
  const content = element.slice(2);
  switch (element[0]) {
    case 'f':
      return 'known';
    case 'v':
      return jsonOf(content) === undefined ? 'malformed' : 'known';
    case 'k':
      return isObject(jsonOf(content)?.value) ? 'known' : 'malformed';
    case 'i':
      return /^[+-]?\d+$/.test(content) ? 'known' : 'malformed';
    default:
      return 'unknown';
  }
}

function jsonOf(text: string): { readonly value: unknown } | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

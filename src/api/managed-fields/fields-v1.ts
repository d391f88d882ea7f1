/**
 * Reads `fieldsV1` as clients and the store hold it. Upstream: fieldpath.Set.FromJSON and DeserializePathElement of
 * structured-merge-diff.
 */
import { parseJson } from '../codec/json.ts';
import { isObject } from '../codec/own-property.ts';
import { leaf, SELF, type FieldNode, type FieldSet } from './field-set.ts';

/** Nodes that were read before, and need no further walk. */
const wellFormed = new WeakSet<object>();

/** The set; `malformed` where upstream's decoder fails. Elements of unknown kinds are left out with all below them. */
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
  if (wellFormed.has(value)) return value as FieldNode;
  const read: Record<string, FieldNode> = {};
  let isSame = true;
  for (const key of Object.keys(value)) {
    const kind = key === SELF ? 'known' : kindOf(key);
    if (kind === 'malformed') return undefined;
    const child = key === SELF ? leaf : kind === 'unknown' ? undefined : readNode(value[key]);
    if (child === undefined && kind === 'known') return undefined;
    if (child !== undefined) read[key] = child;
    isSame &&= child === value[key] || (key === SELF && isObject(value[key]) && Object.keys(value[key]).length === 0);
  }
  const node = isSame ? (value as FieldNode) : read;
  wellFormed.add(node);
  return node;
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

// The set of paths that an applied object contains. Upstream: TypedValue.ToFieldSet and Set.EnsureNamedFieldsAreMembers.

import { isObject } from '../codec/own-property.ts';
import type { TypeSchema } from '../schema/type-schema.ts';
import { elements, isMember, leaf, nodeOf, type FieldNode, type FieldSet } from './field-set.ts';
import { childType, granularList, granularObject, isNamedField } from './field-shape.ts';
import { inField, itemsByElement } from './path-element.ts';

/** Options of {@link fieldSetOf}. */
export interface ExtractOptions {
  /** Accept several list items with the same key, as live objects may have; default false. */
  lenient?: boolean;
}

/**
 * The paths that an object contains. Containers named by the schema are left out unless they are empty; list items and map keys
 * are paths of their own. Throws a ListKeyError for a list without its keys.
 */
export function fieldSetOf(type: TypeSchema, value: unknown, options: ExtractOptions = {}): FieldSet {
  const lenient = options.lenient === true;
  const list = granularList(type);
  if (list !== undefined && (Array.isArray(value) || value === null)) {
    if (value === null) return undefined;
    const children: Record<string, FieldNode> = {};
    for (const [element, [item]] of itemsByElement(list, value, lenient)) {
      children[element] = withSelf(fieldSetOf(list.items, item, options));
    }
    return nodeOf(false, children);
  }
  const shape = granularObject(type, value);
  if (shape === undefined) return leaf;
  if (!isObject(value)) return undefined;
  const children: Record<string, FieldNode> = {};
  for (const key of Object.keys(value)) {
    const inner = value[key];
    if (inner === undefined) continue;
    if (shape.kind === 'map' && typeof inner !== 'object') {
      children[`f:${key}`] = leaf;
      continue;
    }
    const set = inField(key, () => fieldSetOf(childType(shape, key), inner, options));
    const empty = inner === null || (isObject(inner) && Object.keys(inner).length === 0);
    const node = empty || !isNamedField(shape, key) ? withSelf(set) : set;
    if (node !== undefined) children[`f:${key}`] = node;
  }
  return nodeOf(false, children);
}

function withSelf(set: FieldSet): FieldNode {
  return set === undefined ? leaf : isMember(set) ? set : { '.': leaf, ...set };
}

/** Adds each field of the schema that has paths below it as a path of its own. */
export function withNamedFields(type: TypeSchema, set: FieldSet): FieldSet {
  if (set === undefined) return undefined;
  const children: Record<string, FieldNode> = {};
  for (const element of elements(set)) {
    const node = set[element] as FieldNode;
    const { inner, named } = childOf(type, element);
    const deeper = inner === undefined ? node : (withNamedFields(inner, node) ?? node);
    children[element] = named ? withSelf(deeper) : deeper;
  }
  return nodeOf(isMember(set), children);
}

/** The type of the value behind a path element. */
function childOf(type: TypeSchema, element: string): { inner: TypeSchema | undefined; named: boolean } {
  if (!element.startsWith('f:')) return { inner: type.kind === 'list' ? type.items : undefined, named: false };
  const shape = type.kind === 'struct' || type.kind === 'map' || type.kind === 'any' ? type : undefined;
  if (shape === undefined) return { inner: undefined, named: false };
  const key = element.slice(2);
  return { inner: childType(shape, key), named: isNamedField(shape, key) };
}

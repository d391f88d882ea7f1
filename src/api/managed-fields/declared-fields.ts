// Fields of an applied configuration that its kind does not have: such a configuration has no typed form, whatever the
// field validation asked for. Upstream: structured-merge-diff/typed/validate.go.

import { isObject } from '../codec/own-property.ts';
import type { StructSchema, TypeSchema } from '../schema/type-schema.ts';
import { formatFieldPath } from './field-set.ts';
import { granularList } from './field-shape.ts';
import { itemElement, ListKeyError } from './path-element.ts';

/** Enough for anybody to read. */
const MAX_UNDECLARED = 100;

/** What is wrong with the configuration, in upstream's words; undefined: every field is declared. */
export function undeclaredFields(schema: StructSchema, config: unknown): string | undefined {
  const found: string[] = [];
  visit(schema, config, { path: [], found });
  const texts = found.map((path) => `${path}: field not declared in schema`);
  if (texts.length <= 1) return texts[0];
  return ['errors:', ...texts.map((text) => `  ${text}`)].join('\n');
}

interface Context {
  readonly path: string[];
  readonly found: string[];
}

function visit(type: TypeSchema, value: unknown, context: Context): void {
  if (value === null || typeof value !== 'object') return;
  if (type.kind === 'list' && Array.isArray(value)) {
    for (const [index, item] of value.entries())
      if (isObject(item)) step(elementOf(type, item, index), context, () => visit(type.items, item, context));
  } else if (type.kind === 'map' && isObject(value)) {
    for (const key of Object.keys(value)) step(`f:${key}`, context, () => visit(type.values, value[key], context));
  } else if (type.kind === 'struct' && isObject(value)) {
    for (const key of Object.keys(value)) {
      if (context.found.length >= MAX_UNDECLARED) return;
      step(`f:${key}`, context, () => {
        const field = type.fields.get(key);
        if (field !== undefined) visit(field.type, value[key], context);
        else if (!type.preserveUnknown) context.found.push(formatFieldPath(context.path));
      });
    }
  }
}

function step(element: string, { path, found }: Context, body: () => void): void {
  if (found.length >= MAX_UNDECLARED) return;
  path.push(element);
  body();
  path.pop();
}

/** How the item is named: by its keys where it has them. */
function elementOf(type: TypeSchema & { readonly kind: 'list' }, item: unknown, index: number): string {
  const list = granularList(type);
  if (list === undefined) return `i:${index}`;
  try {
    return itemElement(list, item);
  } catch (error) {
    if (error instanceof ListKeyError) return `i:${index}`;
    throw error;
  }
}

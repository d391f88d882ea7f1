// Validates an applied configuration: every field exists in its kind, every value has its field's form, every list can be merged.
// This happens before decoding and for every field validation. Upstream: structured-merge-diff/typed/validate.go, whose texts
// print values as Go does.

import { goPrint, goSyntax, goTypeName } from '../codec/go-print.ts';
import { isObject, type JsonObject } from '../codec/own-property.ts';
import type { ListSchema, ScalarName, StructSchema, TypeSchema } from '../schema/type-schema.ts';
import { formatFieldPath } from './field-set.ts';
import { granularList } from './field-shape.ts';
import { itemElement, ListKeyError } from './path-element.ts';

/** The maximum number of errors in a response. */
const MAX_ERRORS = 100;
/** The maximum number of characters of a quoted value. */
const MAX_VALUE_CHARS = 1000;

/** The errors of a configuration with upstream's texts; undefined for a valid one. */
export function typeErrors(schema: StructSchema, config: unknown): string | undefined {
  const found: string[] = [];
  visit(schema, config, { path: [], found });
  if (found.length <= 1) return found[0];
  return ['errors:', ...found.map((text) => `  ${text}`)].join('\n');
}

interface Context {
  readonly path: string[];
  readonly found: string[];
}

function visit(type: TypeSchema, value: unknown, context: Context): void {
  if (value === null || value === undefined) return;
  if (type.kind === 'scalar') visitScalar(type.scalar, value, context);
  else if (type.kind === 'list') visitList(type, value, context);
  else if (type.kind === 'struct' || type.kind === 'map') visitObject(type, value, context);
}

/** The form of each scalar. Scalars that are not listed have several forms in upstream's schema, and decoding checks them. */
const FORMS: Readonly<Partial<Record<ScalarName, 'string' | 'boolean' | 'numeric' | 'scalar'>>> = {
  string: 'string',
  bytes: 'string',
  boolean: 'boolean',
  int32: 'numeric',
  int64: 'numeric',
  double: 'numeric',
  quantity: 'scalar',
  time: 'scalar',
  microTime: 'scalar',
};

function visitScalar(scalar: ScalarName, value: unknown, context: Context): void {
  const form = FORMS[scalar];
  if (form === 'string' && typeof value !== 'string')
    report(context, `expected string, got &value.valueUnstructured{Value:${goSyntax(value, MAX_VALUE_CHARS)}}`);
  else if (form === 'boolean' && typeof value !== 'boolean') report(context, `expected boolean, got ${pointer(value)}`);
  else if (form === 'numeric' && typeof value !== 'number' && typeof value !== 'bigint')
    report(context, `expected numeric (int or float), got ${goTypeName(value)}`);
  else if (form === 'scalar' && typeof value === 'object')
    report(context, `expected any scalar, got ${pointer(value)}`);
}

function visitList(type: ListSchema, value: unknown, context: Context): void {
  if (!Array.isArray(value)) {
    report(context, `expected list, got ${pointer(value)}`);
    return;
  }
  const merged = granularList(type);
  const seen = new Set<string>();
  for (const [index, item] of value.entries()) {
    if (context.found.length >= MAX_ERRORS) return;
    let element = `i:${index}`;
    if (merged !== undefined) {
      const named = nameOf(merged, item);
      if ('problem' in named) {
        report(context, `element ${index}: ${named.problem}`);
        return; // Upstream stops here, too: it has no path for what follows.
      }
      ({ element } = named);
      if (seen.has(element)) report(context, `duplicate entries for key ${formatFieldPath([element])}`);
      seen.add(element);
    }
    step(element, context, () => visit(type.items, item, context));
  }
}

/** The path element of an item in a merged list, or the reason why it has none. */
function nameOf(list: ListSchema, item: unknown): { readonly element: string } | { readonly problem: string } {
  if (list.listType === 'set' && isObject(item))
    return { problem: "associative list without keys has an element that's a map type" };
  if (list.listType === 'set' && Array.isArray(item))
    return { problem: 'not supported: associative list with lists as elements' };
  try {
    return { element: itemElement(list, item) };
  } catch (error) {
    if (error instanceof ListKeyError) return { problem: error.message };
    throw error;
  }
}

function visitObject(type: TypeSchema & { readonly kind: 'struct' | 'map' }, value: unknown, context: Context): void {
  if (!isObject(value)) report(context, `expected map, got ${pointer(value)}`);
  else if (type.kind === 'map')
    for (const key of Object.keys(value)) step(`f:${key}`, context, () => visit(type.values, value[key], context));
  else visitFields(type, value, context);
}

/** As upstream, stops at the first field that the type does not have. */
function visitFields(type: StructSchema, value: JsonObject, context: Context): void {
  for (const key of Object.keys(value)) {
    const field = type.fields.get(key);
    const isUnknown = field === undefined && !type.preserveUnknown;
    step(`f:${key}`, context, () => {
      if (isUnknown) report(context, 'field not declared in schema');
      else if (field !== undefined) visit(field.type, value[key], context);
    });
    if (isUnknown) return;
  }
}

function step(element: string, { path, found }: Context, body: () => void): void {
  if (found.length >= MAX_ERRORS) return;
  path.push(element);
  body();
  path.pop();
}

function report({ path, found }: Context, problem: string): void {
  found.push(`${formatFieldPath(path)}: ${problem}`);
}

/** A value as Go prints a pointer to it. */
function pointer(value: unknown): string {
  return `&{${goPrint(value, MAX_VALUE_CHARS)}}`;
}

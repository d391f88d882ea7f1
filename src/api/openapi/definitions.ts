// OpenAPI schemas of types, from the schema tables. Versions 2 and 3 differ in references with siblings and in the forms of
// IntOrString and Quantity. Upstream: kube-openapi's builder over the generated definitions.

import type { JsonObject } from '../codec/own-property.ts';
import type { FieldSchema, ScalarName, StructSchema, TypeSchema } from '../schema/type-schema.ts';
import { schemaOf, typeSchema } from '../schema/schema.ts';
import { ANY_TYPES, definitionName, SCALAR_TYPES } from './definition-names.ts';
import { describeField, describeType } from './descriptions.ts';
import { EVERYWHERE, kindInEveryGroup } from './kinds-everywhere.ts';
import { serverDefinition } from './server-definitions.ts';
import { unions } from './unions.ts';
import { appendAll } from '../../base/lists.ts';
import { allSteps, StepMeter, type Steps } from '../../base/steps.ts';

export type OpenApiVersion = 2 | 3;

const PRIMITIVES: Partial<Record<ScalarName, JsonObject>> = {
  string: { type: 'string' },
  boolean: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  double: { type: 'number', format: 'double' },
  bytes: { type: 'string', format: 'byte' },
};

const ZERO_SCALARS: Partial<Record<ScalarName, unknown>> = {
  string: '',
  boolean: false,
  int32: 0,
  int64: 0,
  double: 0,
};

/** Annotations of individual fields that the schema tables lack. */
const FIELD_ANNOTATIONS: Readonly<Record<string, JsonObject>> = {
  'apiregistration.v1.APIServiceSpec.caBundle': { 'x-kubernetes-list-type': 'atomic' },
  'core.v1.PersistentVolumeClaimStatus.allocatedResourceStatuses': { 'x-kubernetes-map-type': 'granular' },
};

function leafDefinition(type: string, version: OpenApiVersion): JsonObject | undefined {
  const v3 = version === 3;
  switch (type) {
    case 'resource.Quantity':
      return v3 ? { oneOf: [{ type: 'string' }, { type: 'number' }] } : { type: 'string' };
    case 'intstr.IntOrString':
      return v3
        ? { format: 'int-or-string', oneOf: [{ type: 'integer' }, { type: 'string' }] }
        : { type: 'string', format: 'int-or-string' };
    case 'meta.v1.Time':
    case 'meta.v1.MicroTime':
      return { type: 'string', format: 'date-time' };
    case 'runtime.RawExtension':
    case 'meta.v1.FieldsV1':
      return { type: 'object' };
    default:
      return type.startsWith('apiextensions.v1.JSON') && type !== 'apiextensions.v1.JSONSchemaProps' ? {} : undefined;
  }
}

/** A reference to a type's definition. */
export function refTo(type: string, version: OpenApiVersion): JsonObject {
  return { $ref: `${version === 2 ? '#/definitions/' : '#/components/schemas/'}${definitionName(type)}` };
}

/** The number of definitions, whose texts are stored packed, that one step computes. */
const STEP_DEFINITIONS = 20;

/** The definitions of these types and of all types that they refer to, by definition name, sorted. */
export function definitionsFor(types: Iterable<string>, version: OpenApiVersion): JsonObject {
  return allSteps(definitionSteps(types, version));
}

/** The definitions of `definitionsFor`. Yields after every twenty, because all of them take a tenth of a second. */
export function* definitionSteps(types: Iterable<string>, version: OpenApiVersion): Steps<JsonObject> {
  const meter = new StepMeter(STEP_DEFINITIONS);
  const definitions = new Map<string, JsonObject>();
  const waiting = [...types];
  for (let type = waiting.pop(); type !== undefined; type = waiting.pop()) {
    if (definitions.has(type)) continue;
    const referred: string[] = [];
    definitions.set(type, definition(type, { version, refer: (name) => referred.push(name) }));
    appendAll(waiting, referred);
    if (meter.endsStep(1)) yield;
  }
  const named = [...definitions].map(([type, schema]) => [definitionName(type), schema] as const);
  return Object.fromEntries(named.sort(([a], [b]) => (a < b ? -1 : 1)));
}

interface Context {
  version: OpenApiVersion;
  /** Called with each type that a definition refers to. */
  refer: (type: string) => void;
}

function definition(type: string, context: Context): JsonObject {
  const description = describeType(type);
  const head = description === undefined ? {} : { description };
  const fixed = leafDefinition(type, context.version) ?? serverDefinition(type, (name) => reference(name, context));
  if (fixed !== undefined) return { ...head, ...fixed };
  const struct = typeSchema(type) as StructSchema;
  const out: JsonObject = { ...head, type: 'object' };
  const properties: JsonObject = {};
  const required: string[] = [];
  for (const field of struct.fields.values()) {
    properties[field.name] = property(field, struct, context);
    if (field.required) required.push(field.name);
  }
  if (struct.fields.size > 0) out['properties'] = properties;
  if (required.length > 0) out['required'] = required.sort();
  if (struct.gvk !== undefined) {
    const [group, version, kind] = struct.gvk;
    if (schemaOf(group, version, kind) === struct) out['x-kubernetes-group-version-kind'] = [{ group, kind, version }];
  }
  if (EVERYWHERE.has(type)) out['x-kubernetes-group-version-kind'] = kindInEveryGroup(type.split('.').at(-1) ?? '');
  if (struct.atomic) out['x-kubernetes-map-type'] = 'atomic';
  const union = unions[type];
  if (union !== undefined) out['x-kubernetes-unions'] = [union];
  return out;
}

function property(field: FieldSchema, struct: StructSchema, context: Context): JsonObject {
  const extras: JsonObject = {};
  const description = describeField(struct.name, field.name);
  if (description !== undefined) extras['description'] = description;
  // As upstream's, version 2 has no defaults.
  const zero = context.version === 3 ? (field.default ?? zeroOf(field)) : undefined;
  if (zero !== undefined) extras['default'] = zero;
  const { type } = field;
  if (type.kind === 'list' && !isPlainList(struct, field)) {
    extras['x-kubernetes-list-type'] = type.listType;
    if (type.keys.length > 0) extras['x-kubernetes-list-map-keys'] = [...type.keys];
  }
  if (type.kind === 'map' && type.atomic) extras['x-kubernetes-map-type'] = 'atomic';
  if (type.kind === 'struct' && type !== typeSchema(type.name))
    extras['x-kubernetes-map-type'] = type.atomic ? 'atomic' : 'granular';
  const annotation = FIELD_ANNOTATIONS[`${struct.name}.${field.name}`];
  if (annotation !== undefined) Object.assign(extras, annotation);
  if (field.patchStrategies.length > 0) extras['x-kubernetes-patch-strategy'] = field.patchStrategies.join(',');
  if (field.patchMergeKey !== undefined) extras['x-kubernetes-patch-merge-key'] = field.patchMergeKey;
  const body = valueSchema(type, context);
  if (field.closed) addEnum(body, field.values);
  return withSiblings(body, extras, context.version);
}

function addEnum(body: JsonObject, values: readonly string[]): void {
  if (body['type'] === 'string') body['enum'] = [...values];
  else if (body['type'] === 'array') addEnum(body['items'] as JsonObject, values);
}

/** In version 3 a reference cannot have siblings, so it is wrapped in an allOf. */
function withSiblings(body: JsonObject, extras: JsonObject, version: OpenApiVersion): JsonObject {
  const { $ref } = body;
  if ($ref === undefined || version === 2 || Object.keys(extras).length === 0) return { ...body, ...extras };
  return { allOf: [{ $ref }], ...extras };
}

function valueSchema(type: TypeSchema, context: Context): JsonObject {
  switch (type.kind) {
    case 'scalar': {
      const named = SCALAR_TYPES[type.scalar];
      return named === undefined ? { ...PRIMITIVES[type.scalar] } : reference(named, context);
    }
    case 'any':
      return reference(ANY_TYPES[type.form], context);
    case 'struct':
      return reference(type.name, context);
    case 'list':
      return { type: 'array', items: element(type.items, context) };
    case 'map':
      return { type: 'object', additionalProperties: element(type.values, context) };
  }
}

function element(type: TypeSchema, context: Context): JsonObject {
  const body = valueSchema(type, context);
  const zero = zeroValue(type);
  return context.version === 3 && zero !== undefined ? withSiblings(body, { default: zero }, 3) : body;
}

/** The zero value of an absent field without `omitempty`. */
function zeroOf({ type, pointer, omitempty }: FieldSchema): unknown {
  if (pointer || (omitempty && type.kind !== 'struct')) return undefined;
  return zeroValue(type);
}

function zeroValue(type: TypeSchema): unknown {
  if (type.kind === 'struct') return {};
  return type.kind === 'scalar' ? ZERO_SCALARS[type.scalar] : undefined;
}

/** Lists that upstream does not annotate: the items of list kinds, and the verbs of discovery. */
function isPlainList({ name, fields }: StructSchema, { name: field }: FieldSchema): boolean {
  if (name === 'meta.v1.APIResource') return field === 'verbs';
  return field === 'items' && name.endsWith('List') && fields.get('metadata') !== undefined;
}

function reference(type: string, context: Context): JsonObject {
  context.refer(type);
  return refTo(type, context.version);
}

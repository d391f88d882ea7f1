// Converts a CRD's structural schema to a TypeSchema, so that pruning, patches, server-side apply and defaulting run the same
// code for custom resources and built-in kinds. Validation uses the JSON schema itself. Upstream:
// apiextensions-apiserver/pkg/apiserver/schema and its conversion for structured-merge-diff.

import type { JSONSchemaProps } from '../gen/apiextensions-v1.ts';
import { typeSchema } from './schema.ts';
import type { FieldSchema, ListSchema, StructSchema, TypeSchema } from './type-schema.ts';

/** Group, version and kind of a custom resource. */
export interface CustomKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

const STRING: TypeSchema = { kind: 'scalar', scalar: 'string' };
const ANYTHING: TypeSchema = { kind: 'any', form: 'json' };

/** The schema of a custom resource from the `openAPIV3Schema` of its version; without one all values are kept. */
export function structuralSchema(props: JSONSchemaProps | undefined, owner: CustomKind): StructSchema {
  const name = `${owner.group}/${owner.version}.${owner.kind}`;
  const root = structOf(props ?? { 'x-kubernetes-preserve-unknown-fields': true }, name);
  const fields = new Map([...root.fields, ...resourceFields()]);
  return { ...root, fields, gvk: [owner.group, owner.version, owner.kind], embedded: false, custom: true };
}

/** The schema of a part of a custom resource. */
export function partSchema(props: JSONSchemaProps): TypeSchema {
  return typeOf(props, '');
}

/** The fields of every object. Its metadata is typed whatever the CRD's schema is. */
function resourceFields(): Map<string, FieldSchema> {
  const plain = (name: string): [string, FieldSchema] => [name, fieldOf(name, STRING, { props: {}, required: false })];
  const metadata = fieldOf('metadata', typeSchema('meta.v1.ObjectMeta'), { props: {}, required: false });
  return new Map([plain('apiVersion'), plain('kind'), ['metadata', metadata]]);
}

function structOf(props: JSONSchemaProps, name: string): StructSchema {
  const required = new Set(props.required);
  const fields = new Map<string, FieldSchema>();
  for (const [key, value] of Object.entries(props.properties ?? {})) {
    fields.set(key, fieldOf(key, typeOf(value, `${name}.${key}`), { props: value, required: required.has(key) }));
  }
  const embedded = props['x-kubernetes-embedded-resource'] === true;
  return {
    kind: 'struct',
    name,
    fields: embedded ? new Map([...fields, ...resourceFields()]) : fields,
    atomic: props['x-kubernetes-map-type'] === 'atomic',
    preserveUnknown: props['x-kubernetes-preserve-unknown-fields'] === true,
    embedded,
  };
}

/** Values of custom fields are kept even when zero, like pointers. */
function fieldOf(name: string, type: TypeSchema, owner: { props: JSONSchemaProps; required: boolean }): FieldSchema {
  return {
    name,
    type,
    required: owner.required,
    pointer: true,
    omitempty: true,
    nullable: owner.props.nullable === true,
    pb: [],
    pbWrapped: false,
    patchStrategies: [],
    patchMergeKey: undefined,
    default: owner.props.default,
    values: [],
    closed: false,
  };
}

function typeOf(props: JSONSchemaProps, name: string): TypeSchema {
  const type = plainTypeOf(props, name);
  if (props['x-kubernetes-preserve-unknown-fields'] !== true) return type;
  return type.kind === 'scalar' || type.kind === 'list' ? { ...type, preserveUnknown: true } : type;
}

function plainTypeOf(props: JSONSchemaProps, name: string): TypeSchema {
  if (props['x-kubernetes-int-or-string'] === true) return { kind: 'scalar', scalar: 'intOrString' };
  switch (props.type) {
    case 'object':
      return objectOf(props, name);
    case 'array':
      return listOf(props, name);
    case 'string':
      return STRING;
    case 'boolean':
      return { kind: 'scalar', scalar: 'boolean' };
    case 'integer':
      return { kind: 'scalar', scalar: 'int64' };
    case 'number':
      return { kind: 'scalar', scalar: 'double' };
    default:
      return props.properties === undefined ? ANYTHING : structOf(props, name);
  }
}

function objectOf(props: JSONSchemaProps, name: string): TypeSchema {
  const { additionalProperties } = props;
  if (additionalProperties === undefined || additionalProperties === false) return structOf(props, name);
  const values = additionalProperties === true ? ANYTHING : typeOf(additionalProperties, `${name}.*`);
  const atomic = props['x-kubernetes-map-type'] === 'atomic';
  const dropsNulls =
    additionalProperties !== true && additionalProperties.nullable !== true && additionalProperties.default == null;
  return { kind: 'map', values, atomic, dropsNulls };
}

function listOf(props: JSONSchemaProps, name: string): ListSchema {
  const { items } = props;
  const element = items === undefined || Array.isArray(items) ? ANYTHING : typeOf(items, `${name}[]`);
  const listType = props['x-kubernetes-list-type'];
  return {
    kind: 'list',
    items: element,
    listType: listType === 'set' || listType === 'map' ? listType : 'atomic',
    keys: props['x-kubernetes-list-map-keys'] ?? [],
  };
}

/**
 * OpenAPI of custom resources: paths and definitions from the schemas of their CustomResourceDefinitions. Upstream:
 * apiextensions-apiserver/pkg/controller/openapi/builder.
 */
import { getOwn, isObject, type JsonObject } from '../codec/own-property.ts';
import type { JSONSchemaProps } from '../gen/apiextensions-v1.ts';
import type { ResourceInfo } from '../resource-info.ts';
import { schemaOf } from '../schema/schema.ts';
import { typesOfPaths } from './builtin-types.ts';
import { definitionsFor, type OpenApiVersion, refTo } from './definitions.ts';
import { groupVersionRoot, type PathFact } from './operation-facts.ts';
import { pathsOfResource } from './operations.ts';
import { renderV2Paths } from './v2.ts';
import { assembleV3, type V3Document } from './v3.ts';

/** A custom resource in one version. */
export interface CustomApi {
  readonly info: ResourceInfo;
  /** Absent when any object is valid. */
  readonly schema: JSONSchemaProps | undefined;
  /** Paths of fields that field selectors may name. */
  readonly selectableFields?: readonly string[];
}

/** The parts of the documents, as `createOpenApi` takes them. */
export interface CustomDocuments {
  readonly extraV2: () => { readonly paths: JsonObject; readonly definitions: JsonObject };
  readonly extraV3: ReadonlyMap<string, V3Document>;
}

/** The name of a definition: `com.example.v1.Widget` for example.com/v1. */
function definitionNameOf({ group, version }: ResourceInfo, kind: string): string {
  return `${group.split('.').toReversed().join('.')}.${version}.${kind}`;
}

function pathsOf({ info }: CustomApi): PathFact[] {
  return pathsOfResource(info, {
    object: definitionNameOf(info, info.kind),
    list: definitionNameOf(info, info.listKind),
    custom: true,
    subresource: ({ group, version, kind }) =>
      group === info.group ? definitionNameOf(info, info.kind) : schemaOf(group, version, kind)?.name,
  });
}

// Conformance tests look for the first words of each of these in the output of `kubectl explain` for custom resources.
const TYPE_META: JsonObject = {
  apiVersion: {
    type: 'string',
    description: 'APIVersion defines the schema this object is written in. Servers convert what they know.',
  },
  kind: { type: 'string', description: 'What kind of object this is, in CamelCase. It never changes.' },
};

function metadataRef(type: string, version: OpenApiVersion): JsonObject {
  const description = "Standard object's metadata.";
  const reference = refTo(type, version);
  return version === 2 ? { ...reference, description } : { allOf: [reference], description };
}

/** The extensions of an object's or a list's definition. */
function extensionsOf({ info, selectableFields = [] }: CustomApi, kind: string): JsonObject {
  const { group, version } = info;
  const fields = selectableFields.map((path) => ({ fieldPath: path.replace(/^\./u, '') }));
  return {
    'x-kubernetes-group-version-kind': [{ group, kind, version }],
    ...(fields.length > 0 && { 'x-kubernetes-selectable-fields': fields }),
  };
}

function objectDefinition(api: CustomApi, version: OpenApiVersion): JsonObject {
  const { info, schema } = api;
  const isFree = version === 2 && schema?.['x-kubernetes-preserve-unknown-fields'] === true;
  // Clients of v2 refuse what is not among the properties, where there are any: of an object that may be anything none.
  if (schema === undefined || isFree) return { type: 'object', ...extensionsOf(api, info.kind) };
  const body = shapeFor(schema as JsonObject, version);
  const declared = isObject(body['properties']) ? body['properties'] : {};
  const metadata = metadataRef('meta.v1.ObjectMeta', version);
  const properties = { ...declared, ...TYPE_META, metadata };
  return { ...body, type: 'object', properties, ...extensionsOf(api, info.kind) };
}

function listDefinition(api: CustomApi, version: OpenApiVersion): JsonObject {
  const { info } = api;
  const prefix = version === 2 ? '#/definitions/' : '#/components/schemas/';
  const items = { type: 'array', items: { $ref: prefix + definitionNameOf(info, info.kind) } };
  return {
    description: `A list of ${info.kind}.`,
    type: 'object',
    required: ['items'],
    properties: {
      ...TYPE_META,
      items: { ...items, description: `The ${info.resource}.` },
      metadata: metadataRef('meta.v1.ListMeta', version),
    },
    ...extensionsOf(api, info.listKind),
  };
}

/** Version 2 has no alternatives, and shows no defaults. */
const ONLY_V3 = new Set(['oneOf', 'anyOf', 'allOf', 'not', 'nullable', 'default']);
const SCHEMA_MAPS = new Set(['properties', 'patternProperties', 'definitions']);

/** The schema in a form that the OpenAPI version can express. */
function shapeFor(schema: JsonObject, version: OpenApiVersion): JsonObject {
  const out = version === 2 ? shapeForV2(schema) : mapSchemas(schema, version);
  const isFree = version === 2 && schema['x-kubernetes-preserve-unknown-fields'] === true;
  return schema['x-kubernetes-embedded-resource'] === true && !isFree ? withTypeMeta(out, version) : out;
}

function mapSchemas(schema: JsonObject, version: OpenApiVersion): JsonObject {
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, shapeMember(key, value, version)]));
}

/**
 * Version 2 has no alternatives, and kubectl and helm reject the whole document for an array without items. They also reject
 * objects for fields that a type preserves without naming them, and for null. Upstream: controller/openapi/v2/conversion.go.
 */
function shapeForV2(schema: JsonObject): JsonObject {
  const isFree = schema['x-kubernetes-preserve-unknown-fields'] === true;
  const isNullableSchema = isNullable(schema);
  const isArrayOfAnything = schema['type'] === 'array' && (isFree || !isObject(schema['items']));
  const dropped = new Set(ONLY_V3);
  if (isFree || isNullableSchema) for (const key of ['properties', 'items']) dropped.add(key);
  if (isNullableSchema || isArrayOfAnything || (isFree && schema['type'] === 'object')) dropped.add('type');
  const remaining = Object.fromEntries(Object.entries(schema).filter(([key]) => !dropped.has(key)));
  const required = requiredInV2(remaining);
  if (required !== undefined) remaining['required'] = required;
  else delete remaining['required'];
  return mapSchemas(remaining, 2);
}

/** Required fields that are not nullable; empty for a map with nullable values. */
function requiredInV2({ required, properties, additionalProperties }: JsonObject): unknown[] | undefined {
  if (!Array.isArray(required) || isNullable(additionalProperties)) return undefined;
  const fields = isObject(properties) ? properties : {};
  const left = required.filter((name) => !isNullable(getOwn(fields, String(name))));
  return left.length === 0 ? undefined : left;
}

function isNullable(schema: unknown): boolean {
  return isObject(schema) && schema['nullable'] === true;
}

function withTypeMeta(schema: JsonObject, version: OpenApiVersion): JsonObject {
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  return {
    ...schema,
    required: [...new Set([...required, 'kind', 'apiVersion'])],
    properties: { ...properties, ...TYPE_META, metadata: metadataRef('meta.v1.ObjectMeta', version) },
  };
}

function shapeMember(key: string, value: unknown, version: OpenApiVersion): unknown {
  if (SCHEMA_MAPS.has(key) && isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, isObject(inner) ? shapeFor(inner, version) : inner]),
    );
  if (key === 'items' || key === 'additionalProperties' || key === 'not')
    return isObject(value) ? shapeFor(value, version) : value;
  return value;
}

function definitions(apis: readonly CustomApi[], facts: readonly PathFact[], version: OpenApiVersion): JsonObject {
  const own = new Map<string, JsonObject>();
  for (const api of apis) {
    own.set(definitionNameOf(api.info, api.info.kind), objectDefinition(api, version));
    own.set(definitionNameOf(api.info, api.info.listKind), listDefinition(api, version));
  }
  const builtin = [...typesOfPaths(facts), 'meta.v1.ObjectMeta', 'meta.v1.ListMeta'].filter((type) => !own.has(type));
  return { ...definitionsFor(builtin, version), ...Object.fromEntries(own) };
}

function referTo(version: OpenApiVersion, own: ReadonlySet<string>): (type: string) => JsonObject {
  const prefix = version === 2 ? '#/definitions/' : '#/components/schemas/';
  return (type) => (own.has(type) ? { $ref: prefix + type } : refTo(type, version));
}

function documentV3(members: readonly CustomApi[], gitVersion: string): V3Document {
  const facts = members.flatMap(pathsOf);
  const refer = referTo(3, namesOf(members));
  return assembleV3(facts, definitions(members, facts, 3), { gitVersion, refer });
}

function partsV2(apis: readonly CustomApi[]): ReturnType<CustomDocuments['extraV2']> {
  const facts = apis.flatMap(pathsOf);
  if (apis.length === 0) return { paths: {}, definitions: {} };
  return { paths: renderV2Paths(facts, referTo(2, namesOf(apis))), definitions: definitions(apis, facts, 2) };
}

/**
 * Returns a function that computes the documents of all custom resources. Documents of unchanged group versions are reused while
 * the caller holds their first resource; a caller that drops a definition frees its documents.
 */
export function createCustomDocuments(gitVersion: string): (apis: readonly CustomApi[]) => CustomDocuments {
  const kept = new WeakMap<CustomApi, { readonly members: readonly CustomApi[]; readonly document: V3Document }>();
  return (apis) => {
    const groups = Map.groupBy(apis, ({ info }) => groupVersionRoot(info.group, info.version).slice(1));
    const extraV3 = new Map<string, V3Document>();
    for (const [path, members] of groups) {
      const before = kept.get(members[0]!);
      const same = before?.members.length === members.length && before.members.every((one, i) => one === members[i]);
      const now = same ? before! : { members, document: documentV3(members, gitVersion) };
      kept.set(members[0]!, now);
      extraV3.set(path, now.document);
    }
    return { extraV2: () => partsV2(apis), extraV3 };
  };
}

function namesOf(apis: readonly CustomApi[]): ReadonlySet<string> {
  return new Set(
    apis.flatMap(({ info }) => [definitionNameOf(info, info.kind), definitionNameOf(info, info.listKind)]),
  );
}

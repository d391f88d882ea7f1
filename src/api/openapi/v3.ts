// OpenAPI v3: an index and one document per group version, built at its first request. Upstream: kube-openapi/handler3.

import type { JsonObject } from '../codec/own-property.ts';
import { type BuiltinDocument, builtinPaths, typesOfPaths } from './builtin-types.ts';
import { definitionsFor, refTo } from './definitions.ts';
import { PRODUCED_TYPES } from './media-types.ts';
import type { OperationFact, PathFact } from './operation-facts.ts';
import type { ParameterFact } from './parameters.ts';
import { groupVersionPath } from './server-operations.ts';
import { STATUS_TEXTS } from './status-texts.ts';

/** The paths and schemas of one group version. */
export interface V3Document extends JsonObject {
  openapi: string;
  paths: JsonObject;
}

/** The document of a built-in group version. */
export function buildV3({ resources, gitVersion, returnsDeleted }: BuiltinDocument): V3Document {
  const [first] = resources;
  const discovery = first === undefined ? [] : [groupVersionPath(first)];
  const facts = [...resources.flatMap((info) => builtinPaths(info, returnsDeleted)), ...discovery];
  return assembleV3(facts, definitionsFor(typesOfPaths(facts), 3), { gitVersion, refer: (type) => refTo(type, 3) });
}

/** The document of paths that belong to no resource. */
export function serverV3(facts: readonly PathFact[], gitVersion: string): V3Document {
  const types = facts.flatMap(({ operations }) => operations.flatMap(({ result }) => result ?? []));
  return assembleV3(facts, definitionsFor(types, 3), { gitVersion, refer: (type) => refTo(type, 3) });
}

/** A document with the paths and schemas of both. */
export function mergeV3(a: V3Document, b: V3Document): V3Document {
  const [ours, theirs] = [a, b].map(({ components }) => components as { schemas: JsonObject });
  const components = { ...ours, schemas: { ...ours!.schemas, ...theirs!.schemas } };
  return { ...a, paths: { ...a.paths, ...b.paths }, components };
}

/** How the builder of a document names its server and its types. */
export interface V3Naming {
  readonly gitVersion: string;
  /** Creates the reference to a type name that occurs in the paths. */
  readonly refer: (type: string) => JsonObject;
}

/** A document from paths and finished schemas, which custom resources have. */
export function assembleV3(
  facts: readonly PathFact[],
  schemas: JsonObject,
  { gitVersion, refer }: V3Naming,
): V3Document {
  const paths: JsonObject = {};
  for (const fact of facts) paths[fact.path] = pathItem(fact, refer);
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: gitVersion },
    paths,
    components: {
      schemas,
      securitySchemes: {
        BearerToken: { type: 'apiKey', name: 'authorization', in: 'header', description: 'Bearer token' },
      },
    },
  };
}

function pathItem(fact: PathFact, refer: V3Naming['refer']): JsonObject {
  const out: JsonObject = fact.parameters.length === 0 ? {} : { parameters: fact.parameters.map(parameter) };
  for (const op of fact.operations) out[op.method] = operation(op, refer);
  return out;
}

function parameter(p: ParameterFact): JsonObject {
  return {
    name: p.name,
    in: p.in,
    description: p.description,
    ...(p.in === 'path' ? { required: true } : {}),
    schema: { type: p.type, uniqueItems: true },
  };
}

function content(types: readonly string[], schema: JsonObject): JsonObject {
  return Object.fromEntries(types.map((type) => [type, { schema }]));
}

function operation(op: OperationFact, refer: V3Naming['refer']): JsonObject {
  const out: JsonObject = { tags: [op.tag], description: op.description, operationId: op.id };
  if (op.parameters.length > 0) out['parameters'] = op.parameters.map(parameter);
  if (op.body !== undefined) {
    const required = op.method === 'delete' ? {} : { required: true };
    out['requestBody'] = { ...required, content: content(op.bodyTypes, refer(op.body)) };
  }
  const schema = op.result === undefined ? { type: 'string' } : refer(op.result);
  const result = content(PRODUCED_TYPES[op.produces], schema);
  const responses = Object.fromEntries(
    op.codes.map((code) => [code, { description: STATUS_TEXTS[code], content: result }]),
  );
  out['responses'] = { ...responses, '401': { description: 'Unauthorized' } };
  if (op.action !== undefined) out['x-kubernetes-action'] = op.action;
  if (op.gvk !== undefined) out['x-kubernetes-group-version-kind'] = op.gvk;
  return out;
}

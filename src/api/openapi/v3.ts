// OpenAPI v3: an index and one document per group version, built when first asked for. Upstream: kube-openapi/handler3.

import type { JsonObject } from '../codec/own-property.ts';
import type { ResourceInfo } from '../resource-info.ts';
import { builtinPaths, typesOfPaths } from './builtin-types.ts';
import { definitionsFor, refTo } from './definitions.ts';
import type { OperationFact, ParameterFact, PathFact } from './operations.ts';

/** The paths and schemas of one group version. */
export interface V3Document extends JsonObject {
  openapi: string;
  paths: JsonObject;
}

const resultTypes = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];
const watchTypes = ['application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch'];

/** The document of a built-in group version. `gitVersion` is what /version says: `v1.36.0`. */
export function buildV3(resources: readonly ResourceInfo[], gitVersion: string): V3Document {
  const facts = resources.flatMap(builtinPaths);
  return assembleV3(facts, definitionsFor(typesOfPaths(facts), 3), { gitVersion, refer: (type) => refTo(type, 3) });
}

/** One document with what both have. */
export function mergeV3(a: V3Document, b: V3Document): V3Document {
  const [ours, theirs] = [a, b].map(({ components }) => components as { schemas: JsonObject });
  const components = { ...ours, schemas: { ...ours!.schemas, ...theirs!.schemas } };
  return { ...a, paths: { ...a.paths, ...b.paths }, components };
}

/** How a document's maker names itself and its types. */
export interface V3Naming {
  readonly gitVersion: string;
  /** The reference to a type name that occurs in the paths. */
  readonly refer: (type: string) => JsonObject;
}

/** A document from paths and ready schemas; custom resources bring their own. */
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
  const out: JsonObject = { parameters: fact.parameters.map(parameter) };
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
  const types = op.action === 'list' ? [...resultTypes, ...watchTypes] : resultTypes;
  const result = op.result === undefined ? { '*/*': { schema: { type: 'string' } } } : content(types, refer(op.result));
  const codes =
    op.method === 'post' && op.result !== undefined
      ? ['200', '201', '202']
      : op.method === 'put' || op.method === 'patch'
        ? ['200', '201']
        : ['200'];
  const responses = Object.fromEntries(codes.map((code) => [code, { description: statusText[code], content: result }]));
  out['responses'] = { ...responses, '401': { description: 'Unauthorized' } };
  out['x-kubernetes-action'] = op.action;
  out['x-kubernetes-group-version-kind'] = op.gvk;
  return out;
}

const statusText: Record<string, string> = { '200': 'OK', '201': 'Created', '202': 'Accepted' };

// OpenAPI v2 (Swagger): one document of all group versions, as JSON and as the protobuf kubectl asks for.

import type { JsonObject } from '../codec/own-property.ts';
import type { ResourceInfo } from '../resource-info.ts';
import { builtinPaths, typesOfPaths } from './builtin-types.ts';
import { definitionsFor, refTo } from './definitions.ts';
import type { OperationFact, ParameterFact, PathFact } from './operations.ts';

/** A Swagger document. */
export interface V2Document extends JsonObject {
  swagger: string;
  info: JsonObject;
  paths: JsonObject;
  definitions: JsonObject;
}

const produces = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];

/** The document of built-in resources; `extra` are paths and definitions of custom ones, already rendered. */
export function buildV2(
  resources: readonly ResourceInfo[],
  gitVersion: string,
  extra?: { paths: JsonObject; definitions: JsonObject },
): V2Document {
  const facts = resources.flatMap(builtinPaths);
  return {
    swagger: '2.0',
    info: { title: 'Kubernetes', version: gitVersion },
    paths: { ...renderV2Paths(facts, (type) => refTo(type, 2)), ...extra?.paths },
    definitions: { ...definitionsFor(typesOfPaths(facts), 2), ...extra?.definitions },
    securityDefinitions: {
      BearerToken: { type: 'apiKey', name: 'authorization', in: 'header', description: 'Bearer token' },
    },
    security: [{ BearerToken: [] }],
  };
}

/** Path items of the given paths. */
export function renderV2Paths(facts: readonly PathFact[], refer: (type: string) => JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const fact of facts) {
    const item: JsonObject = {};
    for (const op of fact.operations) item[op.method] = operation(op, refer);
    item['parameters'] = fact.parameters.map(parameter);
    out[fact.path] = item;
  }
  return out;
}

function parameter(p: ParameterFact): JsonObject {
  return {
    uniqueItems: true,
    type: p.type,
    description: p.description,
    name: p.name,
    in: p.in,
    ...(p.in === 'path' ? { required: true } : {}),
  };
}

function operation(op: OperationFact, refer: (type: string) => JsonObject): JsonObject {
  const parameters = op.parameters.map(parameter);
  if (op.body !== undefined) {
    const required = op.method === 'delete' ? {} : { required: true };
    parameters.unshift({ name: 'body', in: 'body', ...required, schema: refer(op.body) });
  }
  const schema = op.result === undefined ? { type: 'string' } : refer(op.result);
  return {
    description: op.description,
    consumes: op.bodyTypes,
    produces,
    tags: [op.tag],
    operationId: op.id,
    ...(parameters.length > 0 ? { parameters } : {}),
    responses: { '200': { description: 'OK', schema }, '401': { description: 'Unauthorized' } },
    'x-kubernetes-action': op.action,
    'x-kubernetes-group-version-kind': op.gvk,
  };
}

// OpenAPI v2 (Swagger): one document of all group versions, as JSON and as the protobuf that kubectl requests.

import type { JsonObject } from '../codec/own-property.ts';
import type { ResourceInfo } from '../resource-info.ts';
import { type BuiltinDocument, builtinPaths, typesOfPaths } from './builtin-types.ts';
import { definitionSteps, refTo } from './definitions.ts';
import { PRODUCED_TYPES } from './media-types.ts';
import type { OperationFact, PathFact } from './operation-facts.ts';
import type { ParameterFact } from './parameters.ts';
import { groupPath, groupVersionPath, serverPaths } from './server-operations.ts';
import { STATUS_TEXTS } from './status-texts.ts';
import { appendAll } from '../../base/lists.ts';
import { allSteps, StepMeter, type Steps } from '../../base/steps.ts';

export interface V2Document extends JsonObject {
  swagger: string;
  info: JsonObject;
  paths: JsonObject;
  definitions: JsonObject;
}

/** The number of resources whose paths one step computes. */
const STEP_RESOURCES = 10;
/** The number of paths that one step renders. */
const STEP_PATHS = 50;

/** The document of built-in resources, in steps. `extra` has the rendered paths and definitions of custom resources. */
export function* buildV2(
  { resources, gitVersion, returnsDeleted }: BuiltinDocument,
  extra?: { paths: JsonObject; definitions: JsonObject },
): Steps<V2Document> {
  const meter = new StepMeter(STEP_RESOURCES);
  const facts: PathFact[] = [];
  for (const info of resources) {
    appendAll(facts, builtinPaths(info, returnsDeleted));
    if (meter.endsStep(1)) yield;
  }
  appendAll(facts, pathsOfServer(resources));
  const paths = yield* pathSteps(facts, (type) => refTo(type, 2));
  const definitions = yield* definitionSteps(typesOfPaths(facts), 2);
  return {
    swagger: '2.0',
    info: { title: 'Kubernetes', version: gitVersion },
    paths: { ...paths, ...extra?.paths },
    definitions: { ...definitions, ...extra?.definitions },
    securityDefinitions: {
      BearerToken: { type: 'apiKey', name: 'authorization', in: 'header', description: 'Bearer token' },
    },
    security: [{ BearerToken: [] }],
  };
}

export function renderV2Paths(facts: readonly PathFact[], refer: (type: string) => JsonObject): JsonObject {
  return allSteps(pathSteps(facts, refer));
}

function* pathSteps(facts: readonly PathFact[], refer: (type: string) => JsonObject): Steps<JsonObject> {
  const meter = new StepMeter(STEP_PATHS);
  const out: JsonObject = {};
  for (const fact of facts) {
    const item: JsonObject = {};
    for (const op of fact.operations) item[op.method] = operation(op, refer);
    if (fact.parameters.length > 0) item['parameters'] = fact.parameters.map(parameter);
    out[fact.path] = item;
    if (meter.endsStep(1)) yield;
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
    ...(op.bodyTypes.length > 0 && { consumes: op.bodyTypes }),
    produces: PRODUCED_TYPES[op.produces],
    schemes: ['https'],
    tags: [op.tag],
    operationId: op.id,
    ...(parameters.length > 0 ? { parameters } : {}),
    responses: {
      ...Object.fromEntries(op.codes.map((code) => [code, { description: STATUS_TEXTS[code], schema }])),
      '401': { description: 'Unauthorized' },
    },
    ...(op.action === undefined ? {} : { 'x-kubernetes-action': op.action }),
    ...(op.gvk === undefined ? {} : { 'x-kubernetes-group-version-kind': op.gvk }),
  };
}

/** The discovery paths of these resources, and the paths that every server has. */
function pathsOfServer(resources: readonly ResourceInfo[]): PathFact[] {
  const groups = new Set(resources.map(({ group }) => group).filter((group) => group !== ''));
  const versions = new Map(resources.map((info) => [`${info.group}/${info.version}`, info]));
  return [
    ...Object.values(serverPaths),
    ...[...groups].map(groupPath),
    ...[...versions.values()].map(groupVersionPath),
  ];
}

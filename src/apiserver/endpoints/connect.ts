/**
 * CONNECT: admission of requests that open a stream (exec, attach, port-forward) or are proxied. What admission sees is the
 * request's options, made of its query. Upstream: endpoints/handlers.ConnectResource.
 *
 * Differs: options are the caller's alone; a plugin that would change them is an error, where upstream lets it.
 */
import type { JsonObject } from '../../api/codec/own-property.ts';
import { canonicalize } from '../../api/codec/canonical.ts';
import { type KubernetesObject, objectOf } from '../../api/object.ts';
import { equal } from '../../api/patch/json-patch.ts';
import { apiVersionOf, type SubresourceInfo } from '../../api/resource-info.ts';
import { schemaOf } from '../../api/schema/schema.ts';
import type { TypeSchema } from '../../api/schema/type-schema.ts';
import { badRequest, internalError } from '../../api/status-error.ts';
import type { ApiResponse } from '../../api/transport.ts';
import { admissionAttributes } from '../generic-registry/write.ts';
import type { ConnectSubresource } from '../registry/resource-definition.ts';
import type { RequestScope } from '../request-scope.ts';
import type { Call } from './endpoint.ts';

/** Serves a sub-resource with code of its own, after admission where upstream connects (a log is read, not connected to). */
export function serveConnect(call: Call, connect: ConnectSubresource): Promise<ApiResponse> {
  const { store, scope, subresource } = call;
  const info = store.info.subresources.find(({ name }) => name === subresource);
  if (info === undefined || !info.kind.endsWith('Options')) return connect.serve(scope.request, scope);
  return admitConnect(call, info).then(() => connect.serve(scope.request, scope));
}

async function admitConnect({ store, scope, subresource, admission }: Call, info: SubresourceInfo): Promise<void> {
  const { name, namespace } = scope.info;
  const object = optionsObject(info, scope);
  const before = structuredClone(object);
  const request = { context: scope, dryRun: false, manager: '', options: {} };
  const about = { operation: 'CONNECT', subresource, namespace, name, object } as const;
  const attributes = admissionAttributes(store, request, about);
  await admission.mutate(attributes);
  if (!equal(before, object))
    throw internalError('admission changed the options of a connection, which is not supported');
  await admission.validate(attributes);
}

/** As upstream's defaults. */
const DEFAULT_STREAMS = new Set(['stdout', 'stderr']);

function optionsObject(info: SubresourceInfo, { params, info: { rest } }: RequestScope): KubernetesObject {
  const schema = schemaOf(info.group, info.version, info.kind);
  if (schema === undefined) throw new Error(`no schema for ${info.kind}`);
  const object: JsonObject = {};
  for (const { name, type } of schema.fields.values()) {
    if (params.has(name)) object[name] = valueOf(type, params.getAll(name));
    else if (DEFAULT_STREAMS.has(name)) object[name] = true;
  }
  if (info.name === 'proxy') object['path'] = rest;
  const apiVersion = apiVersionOf(info);
  return objectOf(canonicalize(schema, { ...object, kind: info.kind, apiVersion }));
}

function valueOf(type: TypeSchema, texts: readonly string[]): unknown {
  if (type.kind === 'list') {
    const isOfNumbers = type.items.kind === 'scalar' && type.items.scalar === 'int32';
    return isOfNumbers ? texts.flatMap((text) => text.split(',')).map(portOf) : texts;
  }
  const [text = ''] = texts;
  if (type.kind !== 'scalar') return undefined;
  if (type.scalar === 'boolean') return text !== 'false' && text !== '0';
  return text;
}

/** As `Convert_Slice_string_To_Slice_int32`, which takes what ports can be. @throws StatusError 400 */
function portOf(text: string): number {
  const problem = !/^\d+$/.test(text) ? 'invalid syntax' : Number(text) > 65_535 ? 'value out of range' : undefined;
  if (problem === undefined) return Number(text);
  throw badRequest(`cannot convert to []int32: strconv.ParseUint: parsing "${text}": ${problem}`);
}

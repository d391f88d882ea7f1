/** Writes one object in the form the client takes. */
import { yamlOnLoop } from '../../api/codec/yaml-codec.ts';
import { asWritten } from '../../api/codec/written-form.ts';
import type { JsonObject } from '../../api/codec/own-property.ts';
import { builtinSchema, encodeProtobuf } from '../../api/codec/protobuf.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { StructSchema } from '../../api/schema/type-schema.ts';
import { schemaOf } from '../../api/schema/schema.ts';
import type { ApiHeaders, ApiResponse } from '../../api/transport.ts';
import type { GenericStore } from '../generic-registry/generic-store.ts';
import { isPrettyPrint, lineOf, prettyOf } from '../json-text.ts';
import { type MediaForm, MEDIA_TYPE_OF, negotiate } from '../negotiation.ts';
import type { RequestScope } from '../request-scope.ts';
import { CACHE_CONTROL, JSON_HEADERS } from '../responses.ts';
import { warningHeaders } from '../warning-headers.ts';
import type { Printer } from '../registry/resource-definition.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import { includeObjectOf, partialMetadata, tableOf } from './table.ts';

/** Objects that take a millisecond or more. */
const MIDDLING_BYTES = 4096;

const OBJECT_FORMS = ['Table', 'PartialObjectMetadata'];

/** The form for one object of a store. Throws 406. */
function objectForm(store: GenericStore, scope: RequestScope): MediaForm {
  return negotiate(scope.request.headers['accept'], {
    as: OBJECT_FORMS,
    protobuf: store.definition.schema === undefined,
    stream: false,
  });
}

/** Headers of an answer. */
export function headersFor(
  form: MediaForm,
  scope: RequestScope,
  contentType = MEDIA_TYPE_OF[form.serialization],
): ApiHeaders {
  if (contentType === 'application/json' && scope.warnings.length === 0) return JSON_HEADERS;
  return { 'content-type': contentType, 'cache-control': CACHE_CONTROL, ...warningHeaders(scope.warnings) };
}

/** Whether the client gets indented JSON. */
export function isPretty(form: MediaForm, scope: RequestScope): boolean {
  return form.isPretty === true || isPrettyPrint(scope.request);
}

/** Encodes any object whose kind has `schema`. */
async function encodeObject(
  object: object,
  form: MediaForm,
  { schema, scope }: { schema: StructSchema | undefined; scope: RequestScope },
): Promise<Uint8Array> {
  if (form.serialization === 'yaml') {
    const { yaml = yamlOnLoop } = scope.request;
    return Buffer.from(await yaml.stringify(asWritten(object)));
  }
  if (form.serialization === 'protobuf' && schema !== undefined) return encodeProtobuf(schema, object as JsonObject);
  return isPretty(form, scope) ? prettyOf(object) : lineOf(object);
}

/** The object to write: a stored cell, or an object that is stored nowhere. A cell is decoded only when the form needs it. */
export type WrittenObject =
  | { readonly status: number; readonly cell: RevisionCell }
  | { readonly status: number; readonly cell?: undefined; readonly object: KubernetesObject };

/** The answer that carries a stored object. At once for JSON and in-process callers. */
export function writeObject(
  store: GenericStore,
  scope: RequestScope,
  written: WrittenObject,
): ApiResponse | Promise<ApiResponse> {
  const { status, cell } = written;
  if (scope.request.wantsObjects)
    return { kind: 'object', status, headers: warningHeaders(scope.warnings), object: objectOf(store, written) };
  const form = objectForm(store, scope);
  if (cell !== undefined && form.key === 'json' && !isPretty(form, scope)) {
    const chunks = status === 201 ? store.jsonPieces(cell) : [store.jsonLine(cell)];
    return { kind: 'bytes', status, headers: headersFor(form, scope), chunks };
  }
  return writeForm(store, scope, { form, written });
}

function objectOf(store: GenericStore, written: WrittenObject): KubernetesObject {
  return written.cell === undefined ? written.object : store.object(written.cell);
}

async function writeForm(
  store: GenericStore,
  scope: RequestScope,
  { form, written }: { form: MediaForm; written: WrittenObject },
): Promise<ApiResponse> {
  const { status, cell } = written;
  if (cell === undefined || cell.byteLength > MIDDLING_BYTES) await scope.turn();
  const shaped = shape(store, scope, { form, object: objectOf(store, written) });
  const schema = form.as === undefined ? store.schema : schemaOf('meta.k8s.io', form.asVersion, form.as);
  const bytes = await encodeObject(shaped, form, { schema, scope });
  return { kind: 'bytes', status, headers: headersFor(form, scope), chunks: [bytes] };
}

function shape(
  store: GenericStore,
  scope: RequestScope,
  { form, object }: { form: MediaForm; object: KubernetesObject },
): object {
  if (form.as === 'PartialObjectMetadata') return partialMetadata(object, form.asVersion);
  if (form.as !== 'Table') return object;
  const metadata = resourceVersionOf(object);
  const include = includeObjectOf(scope.params);
  return tableOf([object], {
    printer: store.definition.printer,
    version: form.asVersion,
    include,
    nowMs: store.services.clock.nowMs(),
    metadata,
  });
}

function resourceVersionOf({ metadata: { resourceVersion } }: KubernetesObject): { resourceVersion?: string } {
  return resourceVersion === undefined ? {} : { resourceVersion };
}

/** How an object that is stored nowhere is shown as a table. */
export interface AnyTable {
  readonly printer: Printer<KubernetesObject>;
  readonly nowMs: number;
}

/** The answer that carries any object of a built-in kind (Scale, Status, reviews). */
export async function writeAny(
  scope: RequestScope,
  status: number,
  object: { apiVersion?: string; kind?: string },
  table?: AnyTable,
): Promise<ApiResponse> {
  if (scope.request.wantsObjects) return { kind: 'object', status, headers: warningHeaders(scope.warnings), object };
  const form = negotiate(scope.request.headers['accept'], {
    as: table === undefined ? [] : ['Table'],
    protobuf: true,
    stream: false,
  });
  let shaped = object;
  if (form.as === 'Table' && table !== undefined) {
    shaped = tableOf([object as KubernetesObject], {
      ...table,
      version: form.asVersion,
      include: includeObjectOf(scope.params),
      metadata: resourceVersionOf(object as KubernetesObject),
    });
  }
  const schema = builtinSchema(shaped.apiVersion ?? '', shaped.kind ?? '');
  const bytes = await encodeObject(shaped, form, { schema, scope });
  return { kind: 'bytes', status, headers: headersFor(form, scope), chunks: [bytes] };
}

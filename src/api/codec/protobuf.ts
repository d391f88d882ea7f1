// application/vnd.kubernetes.protobuf: the `k8s\0` envelope (runtime.Unknown) around a message, and the frames of a
// watch. Upstream: apimachinery/pkg/runtime/serializer/protobuf. Custom resources have no protobuf form.

import type { StructSchema } from '../schema/type-schema.ts';
import { schemaOf } from '../schema/schema.ts';
import { parseJson } from './json.ts';
import { isObject, type JsonObject } from './own-property.ts';
import { planOf } from './pb-plan.ts';
import { PbError, PbReader } from './pb-reader.ts';
import { BYTES_TYPE, PbWriter } from './pb-writer.ts';
import { parseClientJson, type PartBudget } from './parts.ts';
import { decodeMessage } from './protobuf-decode.ts';
import { writeStruct } from './protobuf-encode.ts';

export { PbError } from './pb-reader.ts';
export { encodeMessage } from './protobuf-encode.ts';

const prefix = Uint8Array.of(0x6b, 0x38, 0x73, 0x00);

/** The type and encoding in an envelope. */
export interface Envelope {
  apiVersion: string;
  kind: string;
  /** The message, or JSON text when `contentType` is that of JSON. */
  raw: Uint8Array;
  contentEncoding: string;
  contentType: string;
}

/** Whether the bytes begin with an envelope's magic number. */
export function isProtobuf(bytes: Uint8Array): boolean {
  return bytes.length >= 4 && prefix.every((b, i) => bytes[i] === b);
}

function finishEnvelope(w: PbWriter, typeMeta: { apiVersion: string; kind: string }, content: () => void): Uint8Array {
  w.string(4, '');
  w.string(3, '');
  const before = w.length;
  content();
  w.message(2, before);
  const meta = w.length;
  w.string(2, typeMeta.kind);
  w.string(1, typeMeta.apiVersion);
  w.message(1, meta);
  w.raw(prefix);
  return w.finish();
}

/** The bytes before and after a message of this length in its envelope. */
export function envelopeEnds(
  typeMeta: { apiVersion: string; kind: string },
  length: number,
): { readonly start: Uint8Array; readonly end: Uint8Array } {
  const after = new PbWriter(8);
  after.string(4, '');
  after.string(3, '');
  const before = new PbWriter(128);
  before.varint(length);
  before.tag(2, BYTES_TYPE);
  const meta = before.length;
  before.string(2, typeMeta.kind);
  before.string(1, typeMeta.apiVersion);
  before.message(1, meta);
  before.raw(prefix);
  return { start: before.finish(), end: after.finish() };
}

/** Unwraps an envelope; `raw` is a view of the input. Throws {@link PbError}. */
function decodeEnvelope(bytes: Uint8Array): Envelope {
  if (!isProtobuf(bytes))
    throw new PbError('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]');
  const r = new PbReader(bytes.subarray(4));
  const out: Envelope = { apiVersion: '', kind: '', raw: new Uint8Array(), contentEncoding: '', contentType: '' };
  while (r.at < r.end) {
    const tag = r.uint32();
    if (tag === 10) r.message(() => readTypeMeta(r, out));
    else if (tag === 18) out.raw = r.bytes();
    else if (tag === 26) out.contentEncoding = r.string();
    else if (tag === 34) out.contentType = r.string();
    else r.skip(tag & 7);
  }
  return out;
}

function readTypeMeta(r: PbReader, out: Envelope): void {
  while (r.at < r.end) {
    const tag = r.uint32();
    if (tag === 10) out.apiVersion = r.string();
    else if (tag === 18) out.kind = r.string();
    else r.skip(tag & 7);
  }
}

/**
 * An object with apiVersion and kind as an enveloped message. Throws {@link PbError}, also for kinds without a protobuf form
 * (Table, custom resources).
 */
export function encodeProtobuf(schema: StructSchema, object: JsonObject): Uint8Array {
  if (planOf(schema).descending.length === 0 && schema.fields.size > 0) {
    throw new PbError(`object ${schema.name} cannot be encoded to a protobuf message`);
  }
  const w = new PbWriter(2048);
  const typeMeta = { apiVersion: String(object['apiVersion'] ?? ''), kind: String(object['kind'] ?? '') };
  return finishEnvelope(w, typeMeta, () => writeStruct(w, schema, object));
}

/** The schema of a built-in kind by apiVersion. */
export function builtinSchema(apiVersion: string, kind: string): StructSchema | undefined {
  const slash = apiVersion.indexOf('/');
  return schemaOf(apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1), kind);
}

/** The type that an envelope must have. */
interface ExpectedEnvelope {
  /** The default when the envelope has no apiVersion. */
  readonly apiVersion: string;
  readonly kind: string;
  /** A version without schemas of its own; its messages are decoded with those of `apiVersion`. */
  readonly olderVersion?: string | undefined;
  /** Limits the parts of an object that a client sent. */
  readonly budget?: PartBudget;
}

/**
 * Decodes an enveloped built-in object into the shape of upstream's JSON. `kind` and `apiVersion` of the envelope become the
 * object's. A kind without a schema is refused. Throws {@link PbError} or a JsonSyntaxError.
 */
export function decodeProtobuf(bytes: Uint8Array, expected?: ExpectedEnvelope): JsonObject {
  const envelope = decodeEnvelope(bytes);
  const apiVersion = envelope.apiVersion || (expected?.apiVersion ?? '');
  const kind = envelope.kind || (expected?.kind ?? '');
  if (envelope.contentType === 'application/json') {
    const text = Buffer.from(envelope.raw).toString('utf8');
    const { value } = expected?.budget === undefined ? parseJson(text) : parseClientJson(text);
    return isObject(value) ? value : { apiVersion, kind };
  }
  const schema = builtinSchema(apiVersion === expected?.olderVersion ? expected.apiVersion : apiVersion, kind);
  if (schema === undefined)
    throw new PbError(`no kind "${kind}" is registered for version "${apiVersion}" in protobuf`);
  return { apiVersion, kind, ...decodeRawMessage(schema, envelope.raw, expected?.budget) };
}

export function decodeRawMessage(schema: StructSchema, raw: Uint8Array, budget?: PartBudget): JsonObject {
  const none = { apiVersion: '', kind: '' };
  const nested = (bytes: Uint8Array): JsonObject => decodeProtobuf(bytes, budget && { ...none, budget });
  return decodeMessage(schema, raw, { nested, budget });
}

/** One frame of a watch: a length of four bytes, then a WatchEvent whose object is an envelope. */
export function encodeWatchFrame(type: string, objectEnvelope: Uint8Array): Uint8Array {
  const w = new PbWriter(objectEnvelope.length + 64);
  const before = w.length;
  w.bytes(1, objectEnvelope);
  w.message(2, before);
  w.string(1, type);
  const length = w.length;
  w.raw(Uint8Array.of(length >>> 24, (length >>> 16) & 255, (length >>> 8) & 255, length & 255));
  return w.finish();
}

/** Decodes one watch frame without its length. Throws {@link PbError}. */
export function decodeWatchEvent(frame: Uint8Array): { type: string; object: JsonObject } {
  const schema = schemaOf('', 'v1', 'WatchEvent');
  if (schema === undefined) throw new Error('no schema for WatchEvent');
  const { type, object } = decodeRawMessage(schema, frame);
  return { type: String(type), object: isObject(object) ? object : {} };
}

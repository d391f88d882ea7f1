/** Decodes request bodies: JSON, YAML or protobuf into the canonical shape of the expected kind. Upstream: the decoders of endpoints/handlers. */
import { keepReset } from '../../api/managed-fields/managed-entries.ts';
import { JsonSyntaxError } from '../../api/codec/json-parser.ts';
import { stringifyJson } from '../../api/codec/json.ts';
import { isObject, type JsonObject } from '../../api/codec/own-property.ts';
import { isLargeValue, parseClientJson, PartBudget } from '../../api/codec/parts.ts';
import { withoutNulls } from '../../api/codec/without-nulls.ts';
import { decodeProtobuf, PbError } from '../../api/codec/protobuf.ts';
import { readYaml } from '../../api/codec/yaml-codec.ts';
import { DecodeError, decodeTyped, type FieldValidation } from '../../api/codec/typed.ts';
import { badRequest, unsupportedMediaType } from '../../api/status-error.ts';
import { jsonKind } from '../../api/codec/scalars.ts';
import type { ApiRequest } from '../../api/transport.ts';
import { contentSerialization, type Serialization } from '../negotiation.ts';
import { LARGE_BYTES } from '../request-context.ts';
import type { RequestScope } from '../request-scope.ts';
import { cannotHandle, checkKind, type ExpectedKind, isKindMissing, noKind, unrecognized } from './expected-kind.ts';

/** As upstream: 3 MiB. */
const MAX_BODY_BYTES = 3 * 1024 * 1024;

/** Bodies that take a millisecond or more. */
const MIDDLING_BYTES = 4096;

/** The body's bytes. Rejects with BodyTooLargeError. */
export async function readBytes(scope: RequestScope): Promise<Uint8Array> {
  const { body } = scope.request;
  if (body.kind !== 'bytes') return new Uint8Array();
  const bytes = await body.read(MAX_BODY_BYTES, scope.bodyGate);
  if (bytes.length > LARGE_BYTES) scope.isLarge = true;
  // Many clients may have sent the last bytes at once.
  if (scope.isLarge) await scope.pause();
  else if (bytes.length > MIDDLING_BYTES) await scope.turn();
  return bytes;
}

/** The serialization of the request's body. Custom resources have no protobuf form. Throws 415. */
function bodySerialization(request: ApiRequest, isCustom = false): Serialization {
  const found = contentSerialization(request.headers['content-type']);
  if (found === undefined || (isCustom && found === 'protobuf')) {
    const accepted = 'application/json, application/yaml, application/vnd.kubernetes.protobuf';
    throw unsupportedMediaType(
      `the body of the request was in an unknown format - accepted media types include: ${accepted}`,
    );
  }
  return found;
}

interface Parsed {
  readonly value: unknown;
  readonly duplicates: readonly string[];
}

const TYPE_META =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

/** Go's error for a JSON value that cannot have a version and kind; undefined for one that can. */
function notTyped(value: unknown): string | undefined {
  if (!isObject(value)) return notA(TYPE_META, 'Go value of type', value);
  for (const field of Object.keys(value)) {
    if (field !== 'kind' && field !== 'apiVersion') continue;
    const text = value[field];
    if (typeof text !== 'string' && text !== null) return notA('string', `Go struct field .${field} of type`, text);
  }
  return undefined;
}

function notA(type: string, target: string, value: unknown): string {
  return `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonKind(value)} into ${target} ${type}`;
}

async function parseBody(
  { yaml, turn }: ApiRequest,
  bytes: Uint8Array,
  { serialization, expected }: { serialization: Serialization; expected: ExpectedKind },
): Promise<Parsed> {
  try {
    if (serialization === 'protobuf') {
      return { value: decodeProtobuf(bytes, { ...expected, budget: new PartBudget() }), duplicates: [] };
    }
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
    if (serialization === 'yaml') await turn?.();
    const parsed = serialization === 'json' ? parseClientJson(text) : await readYaml(text, yaml);
    if (parsed.value === null) return { ...parsed, value: {} };
    const problem = notTyped(parsed.value);
    if (problem !== undefined) throw unrecognized(expected, problem, bytes);
    return parsed;
  } catch (error) {
    if (error instanceof PbError || error instanceof JsonSyntaxError || (error as Error).name === 'YamlSyntaxError') {
      const why = `couldn't get version/kind; json parse error: ${(error as Error).message}`;
      const text = serialization === 'json' ? why : (error as Error).message;
      throw unrecognized(expected, text, bytes);
    }
    throw error;
  }
}

/** YAML's strict errors come as one text, a line for each. */
function linesOf(text: string): readonly string[] {
  const [first = '', ...lines] = text.split('\n');
  return first === 'yaml: unmarshal errors:' ? lines.map((line) => line.trim()) : [text];
}

/** Gives a parsed value the canonical shape of its kind; a fresh object. Throws 400. */
export function shapeObject(
  value: unknown,
  expected: ExpectedKind,
  options: { mode: FieldValidation; duplicates: readonly string[]; scope: RequestScope; shape?: 'go' | 'sparse' },
): JsonObject {
  if (!isObject(value)) {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${expected.kind}): couldn't get version/kind; json parse error: json: cannot unmarshal into Go value of type struct`,
    );
  }
  checkKind(value, expected);
  const { mode, duplicates, scope, shape = 'go' } = options;
  try {
    const { object, warnings } = decodeTyped(expected.schema, value, { mode, duplicates, shape });
    for (const text of warnings.flatMap(linesOf)) scope.addWarning(text);
    if (shape === 'go') keepReset(value, object);
    object['apiVersion'] = expected.apiVersion;
    object['kind'] = expected.kind;
    return object;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw cannotHandle(expected, error.message);
  }
}

/** Reads and decodes the body. Rejects with 400, 413 and 415. */
export async function readObject(
  scope: RequestScope,
  expected: ExpectedKind,
  mode: FieldValidation,
): Promise<JsonObject> {
  const { request } = scope;
  if (request.body.kind === 'object') {
    // Calls inside the process ignore warnings, so fields are only checked on request.
    const inside = mode === 'Strict' ? mode : 'Ignore';
    if (isKindMissing(request.body.object, expected))
      throw noKind(expected, stringifyJson(request.body.object), 'Ignore');
    if (isLargeValue(request.body.object, LARGE_BYTES)) scope.isLarge = true;
    if (scope.isLarge) await scope.pause();
    const object = shapeObject(request.body.object, expected, { mode: inside, duplicates: [], scope });
    if (scope.isLarge) await scope.pause();
    scope.audited?.takeRequestObject(object);
    return object;
  }
  const serialization = bodySerialization(request, expected.schema.custom === true);
  const bytes = await readBytes(scope);
  const { value, duplicates } = await parseBody(request, bytes, { serialization, expected });
  if (scope.isLarge) await scope.pause();
  if (isKindMissing(value, expected)) throw noKind(expected, Buffer.from(bytes).toString('utf8'), mode);
  const object = shapeObject(value, expected, { mode, duplicates, scope });
  if (scope.isLarge) await scope.pause();
  scope.audited?.takeRequestObject(object);
  return object;
}

/** Reads a body of options; undefined when there is none. */
export async function readOptions(scope: RequestScope, expected: ExpectedKind): Promise<JsonObject | undefined> {
  const { request } = scope;
  if (request.body.kind === 'none') return undefined;
  if (request.body.kind === 'object') {
    scope.audited?.takeRequestObject(request.body.object);
    return request.body.object as JsonObject;
  }
  const bytes = await readBytes(scope);
  if (bytes.length === 0) return undefined;
  const { value, duplicates } = await parseBody(request, bytes, {
    serialization: bodySerialization(request),
    expected,
  });
  const own = isObject(value) ? value : {};
  const apiVersion =
    typeof own['apiVersion'] === 'string' && own['apiVersion'] !== '' ? own['apiVersion'] : expected.apiVersion;
  const object = shapeObject(
    withoutNulls(value),
    { ...expected, apiVersion },
    { mode: 'Ignore', duplicates, scope, shape: 'sparse' },
  );
  scope.audited?.takeRequestObject(object);
  return object;
}

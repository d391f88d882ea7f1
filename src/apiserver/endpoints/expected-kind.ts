/** Whether a body is of the kind that its endpoint takes, with upstream's errors. Upstream: the decoders of endpoints/handlers. */
import { isObject, type JsonObject } from '../../api/codec/own-property.ts';
import { builtinSchema } from '../../api/codec/protobuf.ts';
import type { FieldValidation } from '../../api/codec/typed.ts';
import type { StructSchema } from '../../api/schema/type-schema.ts';
import { badRequest, type FieldCause, invalid, type StatusError } from '../../api/status-error.ts';

export interface ExpectedKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly schema: StructSchema;
  /** An API version of the same shape, taken as well. */
  readonly olderVersion?: string | undefined;
  /** Whether the stored kind replaces that of a custom resource: its status takes nothing else from a body. */
  readonly isKindKept?: boolean;
}

/** The first bytes of a body, for error texts: of JSON as text, else as hexadecimal numbers. */
function summary(bytes: Uint8Array): string {
  if (bytes.length === 0) return '<empty>';
  const text = Buffer.from(bytes.subarray(0, 30)).toString(bytes[0] === 0x7b ? 'utf8' : 'hex');
  return bytes.length > 30 ? `${text} ...` : text;
}

export function unrecognized({ kind }: ExpectedKind, why: string, bytes: Uint8Array): StatusError {
  return badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${summary(bytes)})`);
}

/** Where upstream's types are registered, as its errors name it. */
const SCHEME = 'k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30';

/** Upstream's error for a kind that no version has; undefined for a known kind. */
export function unknownKind(apiVersion: string, kind: string): string | undefined {
  if (builtinSchema(apiVersion, kind) !== undefined) return undefined;
  return `no kind "${kind}" is registered for version "${apiVersion}" in scheme "${SCHEME}"`;
}

/** The group in upstream's names of internal types: `core.Pod`, `rbac.Role`. */
function internalPackage(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.search(/[./]/)) : 'core';
}

/**
 * Checks kind and version of a parsed body against what the endpoint takes. Absent ones of built-in kinds are filled in, those of custom
 * resources refused. Throws 400, and 422 for a custom resource of another kind.
 */
export function checkKind(value: JsonObject, expected: ExpectedKind): void {
  const { apiVersion } = value;
  const sent = textOr(apiVersion, '');
  const isCustom = expected.schema.custom === true;
  const isKnown = sent === expected.apiVersion || sent === (expected.olderVersion ?? expected.apiVersion);
  if (!isCustom) checkRegistered(value, expected);
  const problem = isCustom ? undefined : otherKindProblem(expected, apiVersion, value['kind']);
  if (problem !== undefined) throw cannotHandle(expected, problem, value);
  if (!isKnown && (isCustom || sent !== '')) {
    throw badRequest(
      `the API version in the data (${sent}) does not match the expected API version (${expected.apiVersion})`,
    );
  }
  if (isCustom && expected.isKindKept !== true) checkCustomKind(value, expected);
}

/** Custom resources are decoded whatever their kind and version, which validation refuses. Throws 422. */
export function checkCustomKind({ kind, apiVersion, metadata }: JsonObject, expected: ExpectedKind): void {
  const name = isObject(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : '';
  const causes: FieldCause[] = [];
  for (const [field, sent, wanted] of [
    ['kind', textOr(kind, ''), expected.kind],
    ['apiVersion', textOr(apiVersion, ''), expected.apiVersion],
  ] as const) {
    const text = `Invalid value: ${JSON.stringify(sent)}: must be ${wanted}`;
    if (sent !== wanted) causes.push({ reason: 'FieldValueInvalid', field, text });
  }
  if (causes.length === 0) return;
  const [group = ''] = textOr(apiVersion, expected.apiVersion).split('/');
  throw invalid({ group, kind: textOr(kind, '') }, name, causes);
}

/** Upstream's error for a custom object without a kind. */
export function missingKind(text: string): string {
  return `Object 'Kind' is missing in '${text}'`;
}

/** Whether a custom object has no kind. */
export function isKindMissing(value: unknown, { schema }: ExpectedKind): boolean {
  return schema.custom === true && isObject(value) && textOr(value['kind'], '') === '';
}

/** The error of a custom object without a kind. `text`: the body. */
export function noKind(expected: ExpectedKind, text: string, mode: FieldValidation): StatusError {
  const why = missingKind(text);
  return mode === 'Ignore' ? cannotHandle(expected, why) : unrecognized(expected, why, Buffer.from(text));
}

/** `sent`: what the body says it is. */
export function cannotHandle(expected: ExpectedKind, why: string, sent: JsonObject = { ...expected }): StatusError {
  const version = versionIn(textOr(sent['apiVersion'], expected.apiVersion));
  const kind = textOr(sent['kind'], expected.kind);
  return badRequest(`${kind} in version ${JSON.stringify(version)} cannot be handled as a ${expected.kind}: ${why}`);
}

/** Upstream's error for another registered kind; undefined for the expected one. */
export function otherKindProblem(expected: ExpectedKind, apiVersion: unknown, kind: unknown): string | undefined {
  const sent = textOr(kind, expected.kind);
  if (sent === expected.kind) return undefined;
  const version = versionIn(textOr(apiVersion, expected.apiVersion));
  const internal = `${internalPackage(expected.apiVersion)}.${expected.kind}`;
  return `converting (${version}.${sent}) to (${internal}): unknown conversion`;
}

function versionIn(apiVersion: string): string {
  return apiVersion.slice(apiVersion.indexOf('/') + 1);
}

function checkRegistered(value: JsonObject, expected: ExpectedKind): void {
  const apiVersion = textOr(value['apiVersion'], expected.apiVersion);
  const kind = textOr(value['kind'], expected.kind);
  if (kind === expected.kind && (apiVersion === expected.apiVersion || apiVersion === expected.olderVersion)) return;
  const problem = unknownKind(apiVersion, kind);
  if (problem !== undefined) throw cannotHandle(expected, problem, value);
}

function textOr(value: unknown, other: string): string {
  return typeof value === 'string' && value !== '' ? value : other;
}

/**
 * Errors of the API: a Status with upstream's reason, code and message. Upstream: apimachinery/pkg/api/errors. Every failure
 * visible in the API is a `StatusError`; any other error that reaches the outermost filter is a bug and becomes a 500
 * InternalError.
 */
import { aggregateText } from '../base/errors.ts';
import type { Status, StatusCause, StatusDetails } from './gen/meta-v1.ts';

/** Reasons of Status, as upstream spells them. */
export type StatusReason =
  | 'BadRequest'
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Expired'
  | 'Gone'
  | 'Invalid'
  | 'UnsupportedMediaType'
  | 'RequestEntityTooLarge'
  | 'TooManyRequests'
  | 'InternalError'
  | 'ServerTimeout'
  | 'Timeout'
  | 'ServiceUnavailable'
  | 'StoreReadError'
  | '';

/** An error with the Status that the client receives. */
export class StatusError extends Error {
  readonly status: Status;
  constructor(status: Status, options?: ErrorOptions) {
    super(status.message, options);
    this.name = 'StatusError';
    this.status = inOrder(status);
  }
  get reason(): StatusReason {
    return (this.status.reason ?? '') as StatusReason;
  }
  get code(): number {
    return this.status.code ?? 500;
  }
}

/** The fields in the order of upstream's structs, because some clients compare texts. */
function inOrder(fields: Status): Status {
  const { kind = 'Status', apiVersion = 'v1', metadata = {}, status, message, reason, details, code, ...rest } = fields;
  return {
    kind,
    apiVersion,
    metadata,
    ...(status === undefined ? {} : { status }),
    ...(message === undefined ? {} : { message }),
    ...(reason === undefined ? {} : { reason }),
    ...(details === undefined ? {} : { details: detailsInOrder(details) }),
    ...(code === undefined ? {} : { code }),
    ...rest,
  };
}

function detailsInOrder({ causes, retryAfterSeconds, ...rest }: StatusDetails): StatusDetails {
  return {
    ...rest,
    ...(causes === undefined ? {} : { causes }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}

/** A resource in error texts: `deployments.apps`. */
export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

/** One invalid field. `text` follows the field path: `Required value`, `Invalid value: 3: must be …`. */
export interface FieldCause {
  readonly reason: string;
  readonly field: string;
  readonly text: string;
}

/** The code and the reason, which depend on each other, are one parameter. */
function failure(
  [code, reason]: readonly [number, StatusReason],
  message: string,
  details?: StatusDetails,
): StatusError {
  const named = reason === '' ? {} : { reason };
  const status: Status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, ...named, code };
  if (details !== undefined) status.details = details;
  return new StatusError(status);
}

function qualified(resource: GroupResource): string {
  return resource.group === '' ? resource.resource : `${resource.resource}.${resource.group}`;
}

function detailsOf(resource: GroupResource, name: string, extra: Partial<StatusDetails> = {}): StatusDetails {
  return {
    ...(name === '' ? {} : { name }),
    ...(resource.group === '' ? {} : { group: resource.group }),
    kind: resource.resource,
    ...extra,
  };
}

/** 404: `pods "web" not found`. */
export function notFound(resource: GroupResource, name: string): StatusError {
  return failure([404, 'NotFound'], `${qualified(resource)} "${name}" not found`, detailsOf(resource, name));
}

/** 404 for a path that is not served. */
export function noSuchPath(): StatusError {
  return failure([404, 'NotFound'], 'the server could not find the requested resource', {});
}

/** 409 on create. */
export function alreadyExists(resource: GroupResource, name: string): StatusError {
  return failure([409, 'AlreadyExists'], `${qualified(resource)} "${name}" already exists`, detailsOf(resource, name));
}

/** The text of a conflict caused by an outdated resourceVersion. */
const OPTIMISTIC_LOCK_TEXT =
  'the object has been modified; please apply your changes to the latest version and try again';

/** 409 on update. */
export function conflict(resource: GroupResource, name: string, why: string = OPTIMISTIC_LOCK_TEXT): StatusError {
  const message = `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`;
  return failure([409, 'Conflict'], message, detailsOf(resource, name));
}

/** 409 of server-side apply, with a cause per conflicting field. */
export function applyConflict(message: string, causes: StatusCause[]): StatusError {
  return failure([409, 'Conflict'], message, { causes });
}

/** 403. */
export function forbidden(resource: GroupResource, name: string, why: string): StatusError {
  const about = name === '' ? qualified(resource) : `${qualified(resource)} "${name}"`;
  const message = resource.resource === '' ? `forbidden: ${why}` : `${about} is forbidden: ${why}`;
  return failure([403, 'Forbidden'], message, detailsOf(resource, name));
}

/** 400. */
export function badRequest(message: string): StatusError {
  return failure([400, 'BadRequest'], message);
}

/** 401. */
export function unauthorized(message = 'Unauthorized'): StatusError {
  return failure([401, 'Unauthorized'], message);
}

/** 405. */
export function methodNotAllowed(): StatusError {
  return failure([405, 'MethodNotAllowed'], 'the server does not allow this method on the requested resource', {});
}

/** 405 for a verb that a custom resource, or a subresource of it, does not have. */
export function methodNotSupported(resource: GroupResource, verb: string): StatusError {
  const message = `${verb} is not supported on resources of kind "${qualified(resource)}"`;
  return failure([405, 'MethodNotAllowed'], message, detailsOf(resource, ''));
}

/** 406. */
export function notAcceptable(message: string, details?: StatusDetails): StatusError {
  return failure([406, 'NotAcceptable'], message, details);
}

/** 415. */
export function unsupportedMediaType(message: string, details?: StatusDetails): StatusError {
  return failure([415, 'UnsupportedMediaType'], message, details);
}

/** 413. */
export function requestEntityTooLarge(message: string): StatusError {
  return failure([413, 'RequestEntityTooLarge'], `Request entity too large: ${message}`);
}

/** 410: the resourceVersion or continue token is too old. */
export function expired(message: string): StatusError {
  return failure([410, 'Expired'], message);
}

/** Further causes are not listed; the text of each may repeat a whole value. */
const MAX_CAUSES = 1000;
/** The limit of characters of all causes in a response, which contains each twice. */
const MAX_CAUSES_LENGTH = 512 * 1024;

/** 422 with a cause per field. `kind` is the object's kind with its group: `{ group: 'apps', kind: 'Deployment' }`. */
export function invalid(
  resource: { group: string; kind: string },
  name: string,
  all: readonly FieldCause[],
): StatusError {
  const fields = shownCauses(all);
  const texts = fields.map((f) => `${f.field}: ${f.text}`);
  const about = resource.group === '' ? resource.kind : `${resource.kind}.${resource.group}`;
  const causes = fields.map((f) => ({ reason: f.reason, message: f.text, field: f.field }));
  const group = resource.group === '' ? {} : { group: resource.group };
  return failure([422, 'Invalid'], `${about} "${name}" is invalid: ${aggregateText(texts)}`, {
    ...(name === '' ? {} : { name }),
    ...group,
    ...(resource.kind === '' ? {} : { kind: resource.kind }),
    causes,
  });
}

/** The first causes within the limits, at least one. */
function shownCauses(all: readonly FieldCause[]): readonly FieldCause[] {
  let length = 0;
  const end = all.findIndex(({ field, text }, index) => {
    length += field.length + text.length;
    return index > 0 && (index >= MAX_CAUSES || length > MAX_CAUSES_LENGTH);
  });
  return end < 0 ? all : all.slice(0, end);
}

/** 429. */
export function tooManyRequests(message: string, retryAfterSeconds: number, causes?: StatusCause[]): StatusError {
  return failure([429, 'TooManyRequests'], message, { retryAfterSeconds, ...(causes === undefined ? {} : { causes }) });
}

/** 500. */
export function internalError(message: string, cause?: unknown): StatusError {
  const text = `Internal error occurred: ${message}`;
  const status = failure([500, 'InternalError'], text, { causes: [{ message }] }).status;
  return new StatusError(status, { cause });
}

/** 503. */
export function serviceUnavailable(message: string): StatusError {
  return failure([503, 'ServiceUnavailable'], message);
}

/** 504. */
export function timeout(message: string): StatusError {
  return failure([504, 'Timeout'], `Timeout: ${message}`);
}

/** A StatusError with any code and reason, for upstream's responses without a constructor. */
export function statusFailure(code: number, reason: StatusReason, message: string): StatusError {
  return failure([code, reason], message);
}

/** Whether `error` is a StatusError of one of these reasons. */
export function isReason(error: unknown, ...reasons: readonly StatusReason[]): error is StatusError {
  return error instanceof StatusError && reasons.includes(error.reason);
}

/** Rethrows every error except AlreadyExists: `await client.create(object).catch(ignoreAlreadyExists)`. */
export function ignoreAlreadyExists(error: unknown): undefined {
  if (!isReason(error, 'AlreadyExists')) throw error;
}

/** Rethrows every error except NotFound: `await client.delete(key).catch(ignoreNotFound)`. */
export function ignoreNotFound(error: unknown): undefined {
  if (!isReason(error, 'NotFound')) throw error;
}

/**
 * Decodes webhooks' responses by the API's types. Fields of wrong types are refused here, since they would fail later
 * elsewhere. Upstream decodes responses into the review's own type.
 */
import { shown } from '../../base/shown.ts';
import { DecodeError, decodeTyped } from '../../api/codec/typed.ts';
import { checkParts } from '../../api/codec/parts.ts';
import { errorMessage } from '../../base/errors.ts';
import type { JsonObject } from '../../api/codec/own-property.ts';
import { typeSchema } from '../../api/schema/schema.ts';
import type { StructSchema } from '../../api/schema/type-schema.ts';
import { WebhookCallError } from './webhook-client.ts';

/**
 * Decodes a part of a response, e.g. `authorization.v1.SubjectAccessReviewStatus`. Throws `DecodeError` with Go's
 * text, and {@link WebhookCallError} for one with more parts than a client's object may have.
 */
export function decodeAnswer<T>(type: string, value: unknown): T {
  try {
    checkParts(value, Infinity);
  } catch (error) {
    throw new WebhookCallError(errorMessage(error), { cause: error });
  }
  return decodeTyped(typeSchema(type) as StructSchema, value).object as T;
}

/** The status in a review's response; another kind is refused. */
export function reviewStatus<T>(
  answer: JsonObject,
  asked: { readonly apiVersion?: string; readonly kind?: string },
  type: string,
): T {
  const { kind = asked.kind, apiVersion = asked.apiVersion, status } = answer;
  if (kind !== asked.kind || apiVersion !== asked.apiVersion)
    throw new WebhookCallError(
      `expected an answer of ${asked.apiVersion}, Kind=${asked.kind}, got ${shown(apiVersion)}, Kind=${shown(kind)}`,
    );
  try {
    return decodeAnswer<T>(type, status ?? {});
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new WebhookCallError(error.message, { cause: error });
  }
}

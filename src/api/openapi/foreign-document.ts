/**
 * Reads another server's OpenAPI document in steps and within limits. Upstream has no limits; real documents stay below these.
 */
import type { Steps } from '../../base/steps.ts';
import { jsonSteps } from '../codec/json-steps.ts';
import { isObject, type JsonObject } from '../codec/own-property.ts';
import { checkParts } from '../codec/parts.ts';

/** Kubernetes' own document of all its groups has half this size. */
export const MAX_DOCUMENT_BYTES = 8 * 1024 * 1024;

/** Kubernetes' own document has 100,000 parts. */
const MAX_DOCUMENT_PARTS = 500_000;

/** The limit of paths, and of definitions. Kubernetes has less than a thousand of each. */
const MAX_ENTRIES = 20_000;

/** Reads the document. Throws for an invalid one, or one beyond the limits. */
export function* foreignDocument(text: string): Steps<JsonObject> {
  const document = yield* jsonSteps(text, { maxParts: MAX_DOCUMENT_PARTS });
  if (!isObject(document)) throw new Error('an OpenAPI document must be an object');
  return document;
}

/** The paths or definitions that are objects, each at most as large as a client's object. Throws beyond the limits. */
export function* foreignEntries(document: JsonObject, field: string): Steps<JsonObject> {
  const holder = document[field];
  if (!isObject(holder)) return {};
  const entries = Object.entries(holder);
  if (entries.length > MAX_ENTRIES) throw new Error(`more than ${MAX_ENTRIES} ${field}`);
  yield;
  const kept: [string, unknown][] = [];
  for (const entry of entries) {
    const [, value] = entry;
    if (!isObject(value)) continue;
    checkParts(value, Infinity);
    kept.push(entry);
    yield;
  }
  return Object.fromEntries(kept);
}

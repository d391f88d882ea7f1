/** Another server's OpenAPI document, read in steps and within bounds. Upstream has none; these leave real ones room. */
import type { Steps } from '../../base/steps.ts';
import { jsonSteps } from '../codec/json-steps.ts';
import { isObject, type JsonObject } from '../codec/own-property.ts';
import { checkParts } from '../codec/parts.ts';

/** What fits, in bytes: Kubernetes' own document of all its groups has half of it. */
export const MAX_DOCUMENT_BYTES = 8 * 1024 * 1024;

/** Kubernetes' own document has 100,000. */
const MAX_DOCUMENT_PARTS = 500_000;

/** Paths, or definitions. Kubernetes has less than a thousand of each. */
const MAX_ENTRIES = 20_000;

/** Reads the document. Throws on an invalid one, or one beyond the bounds. */
export function* foreignDocument(text: string): Steps<JsonObject> {
  const document = yield* jsonSteps(text, { maxParts: MAX_DOCUMENT_PARTS });
  if (!isObject(document)) throw new Error('an OpenAPI document must be an object');
  return document;
}

/** Its paths or definitions that are objects, none larger than an object of a client. Throws beyond the bounds. */
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

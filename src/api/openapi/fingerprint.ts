/** Identifiers of the versions of OpenAPI documents. */
import { allSteps, type Steps } from '../../base/steps.ts';

const CHARS_OF_STEP = 512 * 1024;

/** FNV-1a in two 32-bit halves: an identifier of a document's version, not a cryptographic hash. */
export function fingerprint(text: string): string {
  return allSteps(fingerprintSteps(text));
}

/** `fingerprint` in steps, for texts of any length. */
export function* fingerprintSteps(text: string): Steps<string> {
  let a = 0x811c9dc5;
  let b = 0x9dc5811c;
  for (let from = 0; from < text.length; from += CHARS_OF_STEP) {
    if (from > 0) yield;
    const end = Math.min(from + CHARS_OF_STEP, text.length);
    for (let i = from; i < end; i++) {
      const c = text.charCodeAt(i);
      a = Math.imul(a ^ c, 0x01000193);
      b = Math.imul(b ^ c, 0x85ebca6b);
    }
  }
  return [a, b].map((half) => (half >>> 0).toString(16).padStart(8, '0').toUpperCase()).join('');
}

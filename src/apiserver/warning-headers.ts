/** Warnings as headers of an answer. Upstream: NewWarningHeader in apimachinery/pkg/util/net, endpoints/filters/warning.go. */
import { headerValueOf } from '../base/header-text.ts';
import type { ApiHeaders } from '../api/transport.ts';

/** In characters of text, over all warnings of an answer. */
const MAX_TOTAL = 4096;
/** Where the total is exceeded each text is cut to this. */
const MAX_CUT = 256;

const none: ApiHeaders = {};

/** The Warning headers for texts that differ. What upstream cannot send, control characters and lone surrogates, goes. */
export function warningHeaders(warnings: readonly string[]): ApiHeaders {
  if (warnings.length === 0) return none;
  const texts = withinLimits(warnings);
  return texts.length === 0 ? none : { warning: texts.map((text) => headerValueOf(`299 - "${escaped(text)}"`)) };
}

/** The texts up to the one that exceeds the total are cut then, and all later ones, until they reach it again. */
function withinLimits(warnings: readonly string[]): string[] {
  const whole: string[] = [];
  let total = 0;
  for (const [index, text] of warnings.entries()) {
    if (!isSendable(text)) continue;
    total += lengthOf(text);
    if (total > MAX_TOTAL) return truncateWarnings(warnings, index);
    whole.push(text);
  }
  return whole;
}

/** Those after `last`, which exceeded the total, need room within it. */
function truncateWarnings(warnings: readonly string[], last: number): string[] {
  const out: string[] = [];
  let total = 0;
  for (const [index, text] of warnings.entries()) {
    if (index > last && total >= MAX_TOTAL) break;
    const runes = [...text].slice(0, MAX_CUT);
    const short = runes.join('');
    if (!isSendable(short)) continue;
    total += runes.length;
    out.push(short);
  }
  return out;
}

function isSendable(text: string): boolean {
  return text !== '' && !/[\p{Cc}\p{Cs}]/u.test(text);
}

/** In code points. */
function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}

/** As in a quoted string of RFC 9110. */
function escaped(text: string): string {
  return text.replaceAll(/["\\]/g, '\\$&');
}

/**
 * Refuses a change and adds the difference to the error. Upstream: cmp.Diff in messages; the lines here are JSON, not Go values.
 */
import { isObject } from '../codec/own-property.ts';
import { stringifyJson } from '../codec/json.ts';
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';

const MAX_LINES = 40;

function collect(now: unknown, before: unknown, at: { path: string; lines: string[] }): void {
  if (deepEqual(now, before) || at.lines.length >= MAX_LINES) return;
  const [a, b] = [before, now].map((value) => (Array.isArray(value) ? { ...value } : value));
  if (isObject(a) && isObject(b)) {
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
      collect(b[key], a[key], { path: at.path === '' ? key : `${at.path}.${key}`, lines: at.lines });
    }
    return;
  }
  if (before !== undefined) at.lines.push(`- \t${at.path}: ${stringifyJson(before)},`);
  if (now !== undefined) at.lines.push(`+ \t${at.path}: ${stringifyJson(now)},`);
}

/** The lines of a difference: `-` for the old value, `+` for the new one. */
function diffLines(now: unknown, before: unknown): string {
  const lines: string[] = [];
  collect(now, before, { path: '', lines });
  return lines.join('\n');
}

/** Adds a `Forbidden: text` error with the difference, unless both are equal. */
export function validateObjectDiff(
  now: unknown,
  before: unknown,
  { field, text }: { field: Field; text: string },
): void {
  if (!deepEqual(now, before)) field.forbidden(`${text}\n${diffLines(now, before)}\n`);
}

/** Finds the values that a JSON path selects in an object. */
import { isObject } from './codec/own-property.ts';
import type { JsonPath, Operand, Step } from './json-path.ts';

/** Limits the values that a search may still visit. */
interface SearchWork {
  left: number;
}

/**
 * Three times the number of values in the largest object. Steps that select values several times could multiply them without
 * limit.
 */
const MAX_VISITED_VALUES = 300_000;

/** All values that the path selects, in order; none when the search exceeds its limit. */
export function findValues(path: JsonPath, value: unknown): unknown[] {
  return search(path, value, { left: MAX_VISITED_VALUES });
}

function search(path: JsonPath, value: unknown, work: SearchWork): unknown[] {
  let found: unknown[] = [value];
  for (const step of path.steps) {
    const next: unknown[] = [];
    const parts = step.kind === 'union' ? step.of : [step];
    for (const part of parts) {
      for (const one of found) {
        if (--work.left <= 0) return [];
        for (const inner of 'kind' in part ? apply(part, one, work) : search(part, one, work)) next.push(inner);
      }
    }
    if (next.length === 0) return [];
    found = next;
  }
  return found;
}

function apply(step: Exclude<Step, { kind: 'union' }>, value: unknown, work: SearchWork): readonly unknown[] {
  switch (step.kind) {
    case 'field':
      return isObject(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : [];
    case 'every':
      return children(value, work);
    case 'descend':
      return descendants(value, work);
    case 'index': {
      if (!Array.isArray(value)) return [];
      const at = step.at < 0 ? value.length + step.at : step.at;
      return at >= 0 && at < value.length ? [value[at] as unknown] : [];
    }
    case 'slice':
      // As upstream, such a path is valid and selects nothing.
      if (!Array.isArray(value) || !(step.step > 0)) return [];
      return children(value, work)
        .slice(step.from, step.to)
        .filter((_, index) => index % step.step === 0);
    case 'filter':
      return Array.isArray(value) ? children(value, work).filter((item) => passes(step, item, work)) : [];
  }
}

function children(value: unknown, work: SearchWork): readonly unknown[] {
  const all = Array.isArray(value) ? (value as unknown[]) : isObject(value) ? Object.values(value) : [];
  work.left -= all.length;
  return work.left > 0 ? all : [];
}

function descendants(value: unknown, work: SearchWork): unknown[] {
  const out: unknown[] = [value];
  for (let at = 0; at < out.length; at++) for (const inner of children(out[at], work)) out.push(inner);
  return out;
}

function passes(
  { left, operator, right }: Extract<Step, { kind: 'filter' }>,
  item: unknown,
  work: SearchWork,
): boolean {
  const a = resolve(left, item, work);
  if (operator === 'exists') return a !== undefined;
  const b = right === undefined ? undefined : resolve(right, item, work);
  if (a === undefined || b === undefined) return false;
  if (operator === '==') return a === b;
  if (operator === '!=') return a !== b;
  if (typeof a !== typeof b || (typeof a !== 'number' && typeof a !== 'string')) return false;
  const order = a < (b as typeof a) ? -1 : a > (b as typeof a) ? 1 : 0;
  return operator === '<' ? order < 0 : operator === '<=' ? order <= 0 : operator === '>' ? order > 0 : order >= 0;
}

function resolve(operand: Operand, item: unknown, work: SearchWork): unknown {
  return 'literal' in operand ? operand.literal : search(operand.path, item, work)[0];
}

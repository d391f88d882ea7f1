/** What tolerations cover of one another. Upstream: pkg/util/tolerations. */
import { deepEqual } from '../../../base/equal.ts';
import type { Toleration } from '../../../api/gen/core-v1.ts';

/** Whether all that `part` tolerates, `whole` does. */
export function covers(whole: Toleration, part: Toleration): boolean {
  if (deepEqual(whole, part)) return true;
  const exists = whole.operator === 'Exists';
  if ((whole.key ?? '') !== (part.key ?? '') && ((whole.key ?? '') !== '' || !exists)) return false;
  if ((whole.effect ?? '') !== '' && whole.effect !== part.effect) return false;
  if (
    whole.effect === 'NoExecute' &&
    whole.tolerationSeconds !== undefined &&
    (part.tolerationSeconds === undefined || part.tolerationSeconds > whole.tolerationSeconds)
  )
    return false;
  if (exists) return true;
  return isEqual(whole) && isEqual(part) && (whole.value ?? '') === (part.value ?? '');
}

function isEqual({ operator = '' }: Toleration): boolean {
  return operator === '' || operator === 'Equal';
}

/** Both lists without what others of them cover. */
export function mergeTolerations(first: readonly Toleration[], second: readonly Toleration[]): Toleration[] {
  const all = [...first, ...second];
  const merged: Toleration[] = [];
  for (const [index, one] of all.entries()) {
    if (merged.some((other) => covers(other, one))) continue;
    // Of equal ones the first stays.
    if (all.slice(index + 1).some((other) => !deepEqual(one, other) && covers(other, one))) continue;
    merged.push(one);
  }
  return merged;
}

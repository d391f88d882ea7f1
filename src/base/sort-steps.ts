/** A stable sort in steps, for lists whose sorting would block other tasks for too long. */
import type { Steps } from './steps.ts';

/** This many comparisons take about a millisecond. */
const PER_STEP = 4096;

/** Merges sorted runs until one is left. */
export function* sortSteps<T>(list: readonly T[], compare: (a: T, b: T) => number): Steps<T[]> {
  let runs: T[][] = [];
  for (let at = 0; at < list.length; at += PER_STEP) {
    runs.push(list.slice(at, at + PER_STEP).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2) merged.push(yield* merge(runs[at]!, runs[at + 1] ?? [], compare));
    runs = merged;
  }
  return runs[0] ?? [];
}

/** Equal elements of the left run come first. */
function* merge<T>(left: readonly T[], right: readonly T[], compare: (a: T, b: T) => number): Steps<T[]> {
  const merged: T[] = [];
  let [l, r] = [0, 0];
  while (l < left.length || r < right.length) {
    const takesLeft = r >= right.length || (l < left.length && compare(left[l]!, right[r]!) <= 0);
    merged.push(takesLeft ? left[l++]! : right[r++]!);
    if (merged.length % PER_STEP === 0) yield;
  }
  return merged;
}

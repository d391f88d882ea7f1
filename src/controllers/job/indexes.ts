/** Sets of completion indexes in their short text, `0,2-4`. Pure. Upstream: controller/job/indexed_job_utils.go. */
import type { Pod } from '../../api/gen/core-v1.ts';

/** Annotation and label of pods of indexed jobs. */
export const COMPLETION_INDEX = 'batch.kubernetes.io/job-completion-index';

/** Reads the text; indexes of `limit` and above, and what cannot be read, are left out. */
export function parseIndexes(text: string | undefined, limit: number): Set<number> {
  const indexes = new Set<number>();
  for (const [first, last] of rangesOf(text, limit)) for (let index = first; index <= last; index++) indexes.add(index);
  return indexes;
}

/** How many indexes a text that names each once has below `limit`. */
export function countIndexes(text: string | undefined, limit: number): number {
  let count = 0;
  for (const [first, last] of rangesOf(text, limit)) count += Math.max(0, last - first + 1);
  return count;
}

/** First and last index of each part; the last may be below the first, which is none. */
function* rangesOf(text: string | undefined, limit: number): Iterable<readonly [number, number]> {
  for (const part of (text ?? '').split(',')) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (match !== null) yield [Number(match[1]), Math.min(Number(match[2] ?? match[1]), limit - 1)];
  }
}

/** The text: runs of three and more are abridged. */
export function formatIndexes(indexes: ReadonlySet<number>): string {
  const sorted = [...indexes].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let first = 0; first < sorted.length;) {
    let last = first;
    while (sorted[last + 1] === (sorted[last] ?? 0) + 1) last++;
    if (last - first > 1) parts.push(`${sorted[first]}-${sorted[last]}`);
    else for (let i = first; i <= last; i++) parts.push(String(sorted[i]));
    first = last + 1;
  }
  return parts.join(',');
}

/** The pod's index; undefined when it has none. */
export function completionIndex(pod: Pod): number | undefined {
  const text = pod.metadata.annotations?.[COMPLETION_INDEX];
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

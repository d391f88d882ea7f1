/** The text form of sets of completion indexes, `0,2-4`. Pure. Upstream: controller/job/indexed_job_utils.go. */
import type { Pod } from '../../api/gen/core-v1.ts';
import { IndexSet, type Interval } from './index-set.ts';

/** Annotation and label of pods of indexed jobs. */
export const COMPLETION_INDEX = 'batch.kubernetes.io/job-completion-index';

/** Parses the text; indexes from `limit` on, and invalid parts, are left out. */
export function parseIndexes(text: string | undefined, limit: number): IndexSet {
  return text === undefined || text === '' ? IndexSet.EMPTY : IndexSet.of(intervalsOf(text, limit));
}

function* intervalsOf(text: string, limit: number): Iterable<Interval> {
  for (const part of text.split(',')) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (match !== null) yield [Number(match[1]), Math.min(Number(match[2] ?? match[1]), limit - 1)];
  }
}

/** The text; runs of three or more indexes are abbreviated. */
export function formatIndexes({ intervals }: IndexSet): string {
  return intervals
    .map(([first, last]) => {
      if (first === last) return String(first);
      return last === first + 1 ? `${first},${last}` : `${first}-${last}`;
    })
    .join(',');
}

/** The pod's index; undefined when it has none. */
export function completionIndex(pod: Pod): number | undefined {
  const text = pod.metadata.annotations?.[COMPLETION_INDEX];
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}

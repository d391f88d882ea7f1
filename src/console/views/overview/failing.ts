/**
 * Failing objects, the most severe first: nodes, then pods in trouble, then workloads that lack pods, then pods that wait long.
 */
import type { Row } from '../../api/table.ts';
import { toneOf } from '../../parts/tone.ts';

/** A failing object; its kind is given by id. */
export interface Failing {
  readonly kind: string;
  readonly row: Row;
  /** The server's status word. */
  readonly word: string;
  readonly grade: number;
}

/** The rows of a kind, with the function that reads their status. */
export interface Watched {
  readonly kind: string;
  readonly rows: Iterable<Row>;
  readonly status: (row: Row) => string;
}

/** Shorter waits are normal. */
const PATIENCE_MS = 60_000;

/** `most`: the limit of rows. */
export function failingOf(watched: readonly Watched[], nowMs: number, most: number): readonly Failing[] {
  const found: Failing[] = [];
  for (const { kind, rows, status } of watched)
    for (const row of rows) {
      const word = status(row);
      const grade = gradeOf(kind, word, nowMs - row.createdMs);
      if (grade > 0 && !row.deleting) found.push({ kind, row, word, grade });
    }
  return found.sort((a, b) => a.grade - b.grade || b.row.createdMs - a.row.createdMs).slice(0, most);
}

/** The severity of a status: 1 is the most severe; 0 is healthy, or failing too briefly. */
function gradeOf(kind: string, word: string, ageMs: number): number {
  const share = /^(\d+)\/(\d+)$/.exec(word);
  if (share !== null) return Number(share[1]) < Number(share[2]) && ageMs > PATIENCE_MS ? 3 : 0;
  if (kind === 'nodes') return word.startsWith('NotReady') ? 1 : 0;
  const tone = toneOf(word);
  if (tone === 'bad') return 2;
  return tone === 'busy' && ageMs > PATIENCE_MS && word !== 'Terminating' ? 4 : 0;
}

/** The number of rows with each status, the most frequent first. */
export function countWords(rows: Iterable<Row>, status: (row: Row) => string): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const word = status(row);
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts].sort(([a, most], [b, other]) => other - most || (a < b ? -1 : 1));
}

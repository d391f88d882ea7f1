/** Two texts as a unified diff. By hand instead of npm's `diff`: a page of code, bounded in its work, for one command. */

const CONTEXT_LINES = 3;
/** With more differing lines the rest is shown as replaced as a whole. */
const MAX_EDITS = 1000;

interface Line {
  readonly kind: ' ' | '-' | '+';
  readonly text: string;
}

/** '' when the texts are equal. */
export function unifiedDiff(from: { name: string; text: string }, to: { name: string; text: string }): string {
  const lines = diffLines(linesOf(from.text), linesOf(to.text));
  if (lines.every(({ kind }) => kind === ' ')) return '';
  return `--- ${from.name}\n+++ ${to.name}\n${hunks(lines).join('')}`;
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function diffLines(a: readonly string[], b: readonly string[]): Line[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const same = (lines: readonly string[]): Line[] => lines.map((text) => ({ kind: ' ', text }));
  return [
    ...same(a.slice(0, start)),
    ...shortestEdit(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...same(a.slice(a.length - end)),
  ];
}

/** The shortest edit. Myers, An O(ND) difference algorithm. */
function shortestEdit(a: readonly string[], b: readonly string[]): Line[] {
  const reached: Map<number, number>[] = [];
  let ends = new Map([[1, 0]]);
  for (let edits = 0; edits <= Math.min(MAX_EDITS, a.length + b.length); edits++) {
    reached.push(ends);
    const next = new Map(ends);
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const isDown = diagonal === -edits || (diagonal !== edits && at(next, diagonal - 1) < at(next, diagonal + 1));
      let x = isDown ? at(next, diagonal + 1) : at(next, diagonal - 1) + 1;
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x++;
      next.set(diagonal, x);
      if (x >= a.length && x - diagonal >= b.length) return walkBack(reached, a, b);
    }
    ends = next;
  }
  return [...a.map((text): Line => ({ kind: '-', text })), ...b.map((text): Line => ({ kind: '+', text }))];
}

function at(ends: ReadonlyMap<number, number>, diagonal: number): number {
  return ends.get(diagonal) ?? -1;
}

function walkBack(reached: readonly ReadonlyMap<number, number>[], a: readonly string[], b: readonly string[]): Line[] {
  const lines: Line[] = [];
  let x = a.length;
  let y = b.length;
  for (let edits = reached.length - 1; edits >= 0; edits--) {
    const ends = reached[edits]!;
    const diagonal = x - y;
    const isDown = diagonal === -edits || (diagonal !== edits && at(ends, diagonal - 1) < at(ends, diagonal + 1));
    const before = isDown ? diagonal + 1 : diagonal - 1;
    const beforeX = edits === 0 ? 0 : at(ends, before);
    const beforeY = edits === 0 ? 0 : beforeX - before;
    while (x > beforeX && y > beforeY) {
      lines.push({ kind: ' ', text: a[--x]! });
      y--;
    }
    if (edits === 0) break;
    if (isDown) lines.push({ kind: '+', text: b[--y]! });
    else lines.push({ kind: '-', text: a[--x]! });
  }
  return lines.reverse();
}

function hunks(lines: readonly Line[]): string[] {
  const hunkLines: string[] = [];
  let fromLine = 1;
  let toLine = 1;
  let index = 0;
  while (index < lines.length) {
    const first = lines.findIndex(({ kind }, position) => position >= index && kind !== ' ');
    if (first < 0) break;
    const start = Math.max(index, first - CONTEXT_LINES);
    for (; index < start; index++, fromLine++, toLine++);
    const end = endOfHunk(lines, first);
    const own = lines.slice(start, end);
    const removed = own.filter(({ kind }) => kind !== '+').length;
    const added = own.filter(({ kind }) => kind !== '-').length;
    const head = `@@ -${fromLine},${removed} +${toLine},${added} @@\n`;
    hunkLines.push(head + own.map(({ kind, text }) => `${kind}${text}\n`).join(''));
    fromLine += removed;
    toLine += added;
    index = end;
  }
  return hunkLines;
}

/** Changes less than two contexts apart are in one hunk. */
function endOfHunk(lines: readonly Line[], first: number): number {
  let last = first;
  for (let index = first; index < lines.length && index <= last + 2 * CONTEXT_LINES; index++)
    if (lines[index]!.kind !== ' ') last = index;
  return Math.min(lines.length, last + CONTEXT_LINES + 1);
}

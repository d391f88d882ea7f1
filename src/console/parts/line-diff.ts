/** Compares two texts line by line. */

export interface DiffLine {
  readonly mark: ' ' | '-' | '+';
  readonly text: string;
}

/** With more pairs of lines than this the differing part is shown as replaced. */
const MOST_PAIRS = 4_000_000;

/** The lines of both texts in order; common lines occur once. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const a = before.split('\n');
  const b = after.split('\n');
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  return [
    ...a.slice(0, start).map((text) => line(' ', text)),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map((text) => line(' ', text)),
  ];
}

function line(mark: DiffLine['mark'], text: string): DiffLine {
  return { mark, text };
}

/** The difference by the longest common subsequence. */
function middle(a: readonly string[], b: readonly string[]): readonly DiffLine[] {
  if (a.length * b.length > MOST_PAIRS)
    return [...a.map((text) => line('-', text)), ...b.map((text) => line('+', text))];
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] =
        a[i] === b[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push(line(' ', a[i++]!));
      j++;
    } else if (j >= b.length || (i < a.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!))
      lines.push(line('-', a[i++]!));
    else lines.push(line('+', b[j++]!));
  }
  return lines;
}

/** Cuts a log line where colours and matches begin and end. */
import type { LogLine } from './log-buffer.ts';
import { marksIn } from './search.ts';

/** Text with one style. */
export interface Piece {
  readonly text: string;
  readonly classes: string;
  readonly marked: boolean;
}

interface Part {
  readonly from: number;
  readonly to: number;
  readonly query: string;
}

/** A part of a line, cut wherever a colour or a match begins or ends. */
export function piecesOf(
  { text, spans }: Pick<LogLine, 'text' | 'spans'>,
  { from, to, query }: Part,
): readonly Piece[] {
  const marks = marksIn(text, query);
  if (spans.length === 0 && marks.length === 0)
    return from === to ? [] : [{ text: text.slice(from, to), classes: '', marked: false }];
  const edges = new Set([from, to]);
  for (const { start, end } of [...spans, ...marks])
    for (const edge of [start, end]) if (edge > from && edge < to) edges.add(edge);
  const sorted = [...edges].sort((a, b) => a - b);
  let span = 0;
  let mark = 0;
  return sorted.slice(0, -1).map((start, index) => {
    while (span < spans.length && spans[span]!.end <= start) span++;
    while (mark < marks.length && marks[mark]!.end <= start) mark++;
    return {
      text: text.slice(start, sorted[index + 1]),
      classes: (spans[span]?.start ?? Infinity) <= start ? spans[span]!.classes : '',
      marked: (marks[mark]?.start ?? Infinity) <= start,
    };
  });
}

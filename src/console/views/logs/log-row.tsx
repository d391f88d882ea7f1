/** One row: a part of a line, with its colours and what was searched for. Everything is text. */
import { Component } from 'preact';
import type { LogLine } from './log-buffer.ts';
import { marksIn } from './search.ts';

/** Height of a row, as in the style sheet. */
export const ROW_HEIGHT = 18;

/** How lines are drawn, the same object as long as nothing of it changes. */
export interface RowLook {
  readonly query: string;
  /** What stands before the text. */
  readonly prefix: (line: LogLine) => string;
}

interface LogRowProps {
  readonly row: number;
  readonly line: LogLine;
  /** The part of the text. */
  readonly from: number;
  readonly to: number;
  readonly look: RowLook;
  readonly current: boolean;
}

export class LogRow extends Component<LogRowProps> {
  override shouldComponentUpdate(next: LogRowProps): boolean {
    const { row, line, from, to, look, current } = this.props;
    return (
      row !== next.row ||
      line !== next.line ||
      from !== next.from ||
      to !== next.to ||
      look !== next.look ||
      current !== next.current
    );
  }

  render() {
    const { row, line, from, to, look, current } = this.props;
    const prefix = from === 0 ? look.prefix(line) : '';
    return (
      <div
        class={current ? 'logs-row logs-current' : 'logs-row'}
        data-source={line.source % SOURCE_COLOURS}
        style={{ transform: `translateY(${row * ROW_HEIGHT}px)` }}
      >
        {prefix === '' ? null : <span class="logs-prefix">{prefix}</span>}
        {piecesOf(line, { from, to, query: look.query }).map(({ text, classes, marked }, index) =>
          marked ? (
            <mark key={index}>{text}</mark>
          ) : (
            <span key={index} class={classes}>
              {text}
            </span>
          ),
        )}
      </div>
    );
  }
}

const SOURCE_COLOURS = 6;

/** Text that is drawn in one way. */
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

/** The part of a line, cut wherever a colour or a match begins or ends. */
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

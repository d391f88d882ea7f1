/** One row: a part of a line, with its colours and search matches. All content is text, not markup. */
import { Component } from 'preact';
import type { LogLine } from './log-buffer.ts';
import { piecesOf } from './pieces.ts';

/** In pixels, as in the style sheet. */
export const ROW_HEIGHT = 18;

/** How lines are drawn; the object stays the same while nothing changes. */
export interface RowStyle {
  readonly query: string;
  /** The text before the line. */
  readonly prefix: (line: LogLine) => string;
}

interface LogRowProps {
  readonly row: number;
  readonly line: LogLine;
  /** The index at which the row's part of the text begins. */
  readonly from: number;
  readonly to: number;
  readonly rowStyle: RowStyle;
  readonly current: boolean;
}

export class LogRow extends Component<LogRowProps> {
  override shouldComponentUpdate(next: LogRowProps): boolean {
    const { row, line, from, to, rowStyle, current } = this.props;
    return (
      row !== next.row ||
      line !== next.line ||
      from !== next.from ||
      to !== next.to ||
      rowStyle !== next.rowStyle ||
      current !== next.current
    );
  }

  render() {
    const { row, line, from, to, rowStyle, current } = this.props;
    const prefix = from === 0 ? rowStyle.prefix(line) : '';
    return (
      <div
        class={current ? 'logs-row logs-current' : 'logs-row'}
        data-source={line.source % SOURCE_COLOURS}
        style={{ transform: `translateY(${row * ROW_HEIGHT}px)` }}
      >
        {prefix === '' ? null : <span class="logs-prefix">{prefix}</span>}
        {piecesOf(line, { from, to, query: rowStyle.query }).map(({ text, classes, marked }, index) =>
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

/** Issues with their positions in the source. Upstream: cel-go common/error.go, errors.go and source.go. */

/** One issue about the source. */
export interface Issue {
  /** The offset in code points; -1 for an issue about the whole expression. */
  readonly at: number;
  readonly message: string;
}

/** Further issues are counted and not printed. */
const MAX_ISSUES = 100;
/** Lines longer than this are not quoted. */
const MAX_SNIPPET_BYTES = 16_384;

/** Adds an issue. `message` is not called for issues that are only counted. */
export function report(issues: Issue[], at: number, message: () => string): void {
  issues.push({ at, message: issues.length < MAX_ISSUES ? message() : '' });
}

/** The text of an expression, in code points. */
export class Source {
  readonly points: readonly string[];
  readonly #lineStarts: readonly number[];

  constructor(text: string) {
    this.points = [...text];
    const starts = [0];
    for (const [index, point] of this.points.entries()) if (point === '\n') starts.push(index + 1);
    this.#lineStarts = starts;
  }

  /** The text of all issues, sorted by position, as upstream prints them. */
  issuesText(issues: readonly Issue[]): string {
    const shown = issues.slice(0, MAX_ISSUES).map((issue) => ({ issue, ...this.#place(issue.at) }));
    shown.sort((a, b) => a.line - b.line || a.column - b.column);
    const texts = shown.map(({ issue, line, column }) => this.#text(issue.message, line, column));
    if (issues.length > MAX_ISSUES) texts.push(`${issues.length - MAX_ISSUES} more errors were truncated`);
    return texts.join('\n');
  }

  /** Lines count from 1, columns from 0. */
  #place(at: number): { line: number; column: number } {
    if (at < 0) return { line: -1, column: -1 };
    const line = this.#lineStarts.findLastIndex((start) => start <= at);
    return { line: line + 1, column: at - this.#lineStarts[line]! };
  }

  #text(message: string, line: number, column: number): string {
    const head = `ERROR: <input>:${line}:${column + 1}: ${message}`;
    const start = this.#lineStarts[line - 1];
    if (start === undefined || this.points.length === 0) return head;
    const next = this.#lineStarts[line];
    const end = next === undefined ? this.points.length : next - 1;
    if (end - start > MAX_SNIPPET_BYTES) return head;
    const snippet = this.points.slice(start, end);
    if (Buffer.byteLength(snippet.join('')) > MAX_SNIPPET_BYTES) return head;
    const under = snippet.slice(0, column).map((point) => (isWide(point) ? '\uff0e' : '.'));
    const mark = isWide(snippet[column] ?? ' ') ? '\uff3e' : '^';
    return `${head}\n | ${snippet.join('').replaceAll('\t', ' ')}\n | ${under.join('')}${mark}`;
  }
}

function isWide(point: string): boolean {
  return point.codePointAt(0)! > 0x7f;
}

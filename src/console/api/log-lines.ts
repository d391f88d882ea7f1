/** Cuts the text of a log into lines as it arrives. Memory for an endless line is limited to the maximum length. */
export class LineCutter {
  readonly #longest: number;
  #rest = '';
  /** The number of dropped characters of the unfinished line. */
  #dropped = 0;

  constructor(longest: number) {
    this.#longest = longest;
  }

  /** The lines that this piece completes. */
  cut(piece: string): readonly CutLine[] {
    const lines: CutLine[] = [];
    let from = 0;
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', from)) {
      this.#take(piece.slice(from, Math.min(end, from + this.#longest)), end - from);
      lines.push(this.#line());
      from = end + 1;
    }
    if (from < piece.length) this.#take(piece.slice(from, from + this.#longest), piece.length - from);
    return lines;
  }

  /** The text behind the last line feed. */
  end(): readonly CutLine[] {
    return this.#rest === '' ? [] : [this.#line()];
  }

  #take(text: string, length: number): void {
    const kept = text.slice(0, this.#longest - this.#rest.length);
    this.#rest += kept;
    this.#dropped += length - kept.length;
  }

  #line(): CutLine {
    const line = { text: this.#rest, dropped: this.#dropped };
    this.#rest = '';
    this.#dropped = 0;
    return line;
  }
}

/** A line without its line feed. `dropped` is the number of missing characters. */
export interface CutLine {
  readonly text: string;
  readonly dropped: number;
}

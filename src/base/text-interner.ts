/** Shares equal texts: thousands of simulated machines have files with the same few names and contents. */

/** Texts remembered in each of two generations. */
const KNOWN_TEXTS = 1000;
const LONGEST_KNOWN = 4096;
/** V8 copies shorter pieces of a text itself. */
const SHORTEST_PIECE = 13;

/** Remembers recent texts. Users that share an interner share their texts. */
export class TextInterner {
  #recent = new Map<string, string>();
  /** The generation before, dropped when the recent one is full. */
  #earlier = new Map<string, string>();

  /**
   * The shared object for a text. A piece of another text is copied first, since it would keep the whole other text in
   * memory. `isWhole`: the text is not such a piece.
   */
  intern(text: string, isWhole: boolean = false): string {
    if (text.length > LONGEST_KNOWN) return text;
    const recent = this.#recent.get(text);
    if (recent !== undefined) return recent;
    const own = this.#earlier.get(text) ?? (isWhole ? text : copyOf(text));
    if (this.#recent.size >= KNOWN_TEXTS) [this.#earlier, this.#recent] = [this.#recent, new Map()];
    this.#recent.set(own, own);
    return own;
  }
}

/** A text that is a piece of no other, which it would keep in memory. By UTF-16 units: UTF-8 cannot hold half a surrogate pair. */
export function copyOf(text: string): string {
  return text.length < SHORTEST_PIECE ? text : Buffer.from(text, 'utf16le').toString('utf16le');
}

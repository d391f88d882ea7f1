/** Equal texts as one object: thousands of simulated machines have files with the same few names and contents. */
const KNOWN_TEXTS = 1000;
const LONGEST_KNOWN = 4096;
/** Engines copy shorter pieces anyway. */
const SHORTEST_PIECE = 13;

/** Remembers the texts of late. Whoever wants their texts to be one shares it. */
export class TextInterner {
  #recent = new Map<string, string>();
  /** Those before the recent ones; they go when those are many. */
  #earlier = new Map<string, string>();

  /**
   * The text, as the object that was used for it before if that was not long ago. What may be cut out of another text is
   * copied first, for it would keep all of that other in memory. `isWhole`: it was not cut out.
   */
  intern(text: string, isWhole: boolean = false): string {
    if (text.length > LONGEST_KNOWN) return text;
    const found = this.#recent.get(text);
    if (found !== undefined) return found;
    const own = this.#earlier.get(text) ?? (isWhole || text.length < SHORTEST_PIECE ? text : copyOf(text));
    if (this.#recent.size >= KNOWN_TEXTS) [this.#earlier, this.#recent] = [this.#recent, new Map()];
    this.#recent.set(own, own);
    return own;
  }
}

/** By its UTF-16 units: UTF-8 has none for half a surrogate pair. */
function copyOf(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}

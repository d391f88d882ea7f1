/**
 * Equal texts as one: the files and events of thousands of pods have the same few names, contents and messages. A text
 * that was cut out of another is copied first, for it would keep all of that other in memory.
 */
const KNOWN_TEXTS = 1000;
const LONGEST_KNOWN = 4096;
/** Engines copy shorter pieces anyway. */
const SHORTEST_PIECE = 13;

/** Those of late, and those before them, which go when the former are many. */
let recent = new Map<string, string>();
let earlier = new Map<string, string>();

/** The text, as the object that was used for it before if that was not long ago. `isWhole`: it was not cut out. */
export function interned(text: string, isWhole: boolean = false): string {
  if (text.length > LONGEST_KNOWN) return text;
  const found = recent.get(text);
  if (found !== undefined) return found;
  const own = earlier.get(text) ?? (isWhole || text.length < SHORTEST_PIECE ? text : Buffer.from(text).toString());
  if (recent.size >= KNOWN_TEXTS) [earlier, recent] = [recent, new Map()];
  recent.set(own, own);
  return own;
}

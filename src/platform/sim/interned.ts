/**
 * Equal texts as one: the directories and files of thousands of pods have the same few names and contents. A text that
 * was cut out of another is copied first, for it would keep all of that other in memory.
 */
import { Lru } from '../../base/lru.ts';

const KNOWN_TEXTS = 1000;
const LONGEST_KNOWN = 4096;
/** Engines copy shorter pieces anyway. */
const SHORTEST_PIECE = 13;

const known = new Lru<string, string>(KNOWN_TEXTS);

/** The text, as the object that was used for it before if that was not long ago. */
export function interned(text: string): string {
  if (text.length > LONGEST_KNOWN) return text;
  const found = known.get(text);
  if (found !== undefined) return found;
  const own = text.length < SHORTEST_PIECE ? text : Buffer.from(text).toString();
  known.set(own, own);
  return own;
}

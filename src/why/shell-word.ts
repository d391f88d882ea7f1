/** Quotes names in commands that users copy. Pure. */

/** The text as one word of a POSIX shell: unchanged when no character is special, else quoted. */
export function shellWord(text: string): string {
  return /^[\w.:@/%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

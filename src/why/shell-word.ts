/** Names in commands that people copy. Pure. */

/** A text as one word of a POSIX shell: as it is where no character means anything to the shell, else quoted. */
export function shellWord(text: string): string {
  return /^[\w.:@/%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

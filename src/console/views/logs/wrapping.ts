/** Wraps lines into rows of a number of columns, as a terminal does. A character takes zero, one or two columns. */

/** Characters that take two columns: East Asian scripts, and emojis. */
const WIDE =
  /[\u1100-\u115e\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f000}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const WITHOUT_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u;
const ASCII = /^[\u0000-\u007f]*$/;

/** Whether each character takes one column. */
export function isPlainWidth(text: string): boolean {
  return ASCII.test(text);
}

function widthOf(character: string): number {
  if (character <= '\u007f') return 1;
  return WIDE.test(character) ? 2 : WITHOUT_WIDTH.test(character) ? 0 : 1;
}

/** The indices at which the rows of a text begin, at least one. The first row is shorter by `indent` columns. */
export function rowStarts(text: string, columns: number, indent: number): readonly number[] {
  const starts = [0];
  let used = indent;
  let at = 0;
  for (const character of text) {
    const width = widthOf(character);
    if (used + width > columns && at > starts.at(-1)!) {
      starts.push(at);
      used = 0;
    }
    used += width;
    at += character.length;
  }
  return starts;
}

/** The number of rows; fast when each character takes one column. */
export function rowCount(
  text: string,
  { columns, indent, plain }: { readonly columns: number; readonly indent: number; readonly plain: boolean },
): number {
  return plain ? Math.max(1, Math.ceil((text.length + indent) / columns)) : rowStarts(text, columns, indent).length;
}

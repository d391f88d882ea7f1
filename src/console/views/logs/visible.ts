/** Replaces characters that a page would hide, or that would change how the surrounding text is displayed. */

/** Control characters, direction marks and zero-width characters, except the joiner that emojis need. */
const HIDDEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb]/g;

const TAB_STOP = 8;

/** The text as it is shown after `column` characters of its line. */
export function visible(text: string, column: number): string {
  if (text.search(HIDDEN) < 0) return text;
  let longer = 0;
  return text.replaceAll(HIDDEN, (character: string, offset: number) => {
    const shown = pictureOf(character, column + offset + longer);
    longer += shown.length - 1;
    return shown;
  });
}

function pictureOf(character: string, column: number): string {
  const code = character.codePointAt(0) ?? 0;
  if (code === 9) return ' '.repeat(TAB_STOP - (column % TAB_STOP));
  if (code < 32) return String.fromCodePoint(0x2400 + code);
  return code === 127 ? '\u2421' : `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
}

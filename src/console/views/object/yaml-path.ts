/** The field of a line in a YAML document: keys from the top down, `[]` for an item of a list. Pure. */

/** Dashes of items, then a key, quoted or not. */
const LINE = /^((?: *- )*) *(?:- )?/;
const KEY = /^(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)'|([^\s#"'\-:][^:]*|-[^\s:][^:]*)):(?:\s|$)/;

interface Parsed {
  /** The columns of the dashes before the key. */
  readonly dashes: readonly number[];
  readonly indent: number;
  /** '' when the line has no key. */
  readonly key: string;
  readonly blank: boolean;
}

export function pathOfLine(lines: readonly string[], at: number, column = Infinity): readonly string[] {
  const own = parse(lines[at] ?? '');
  const path: string[] = [];
  // Lines with less indentation than this enclose the field. On an empty line the next key would begin at the cursor.
  let limit = own.blank ? Math.min(column, (lines[at] ?? '').length) : Infinity;
  // The key of a list may have the same indentation as the list's dashes.
  let keyLimit = limit;
  for (let line = own.blank ? at - 1 : at; line >= 0 && keyLimit > 0; line--) {
    const { dashes, indent, key, blank } = parse(lines[line] ?? '');
    if (blank) continue;
    if (key !== '' && indent < keyLimit) {
      path.unshift(key);
      limit = keyLimit = indent;
    }
    for (const dash of dashes.toReversed()) {
      if (dash >= limit) continue;
      path.unshift('[]');
      limit = dash;
      keyLimit = dash + 1;
    }
  }
  return path;
}

function parse(text: string): Parsed {
  const blank = text.trim() === '' || text.trimStart().startsWith('#');
  const prefix = LINE.exec(text)?.[0] ?? '';
  const dashes = [...prefix.matchAll(/-/g)].map(({ index }) => index);
  const rest = text.slice(prefix.length);
  const indent = prefix.length + (rest.length - rest.trimStart().length);
  const [, double, single, plain] = KEY.exec(rest.trimStart()) ?? [];
  return { dashes, indent, key: (double ?? single ?? plain ?? '').trim(), blank };
}

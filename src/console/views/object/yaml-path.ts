/** Which field of a YAML document a line is about: keys from the top down, `[]` for an item of a list. Pure. */

/** Items' dashes, then a key, quoted or not. */
const LINE = /^((?: *- )*) *(?:- )?/;
const KEY = /^(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)'|([^\s#"'\-:][^:]*|-[^\s:][^:]*)):(?:\s|$)/;

interface Parsed {
  /** Columns of the dashes before it. */
  readonly dashes: readonly number[];
  readonly indent: number;
  /** '' where the line has no key. */
  readonly key: string;
  readonly blank: boolean;
}

export function pathOfLine(lines: readonly string[], at: number, column = Infinity): readonly string[] {
  const own = parse(lines[at] ?? '');
  const path: string[] = [];
  // What stands further left than this is around what was found. On an empty line the next key would stand at the cursor.
  let limit = own.blank ? Math.min(column, (lines[at] ?? '').length) : Infinity;
  // The key of a list may stand as far left as the list's dashes.
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

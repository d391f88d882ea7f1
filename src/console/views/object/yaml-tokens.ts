/** Splits the lines of the server's YAML into pieces of one colour. Pure. */

export interface YamlToken {
  readonly kind: 'key' | 'value' | 'text' | 'mark';
  readonly text: string;
}

/** Dashes of items, a key with its colon, the rest. */
const LINE = /^((?: *- )* *)((?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'#[\]{}][^:]*?(?::\S[^:]*?)*):(?=\s|$))?(.*)$/s;
/** Values that are no texts: numbers, booleans, null, and empty collections. */
const VALUE = /^\s*(?:[-+]?(?:\d[\d_]*(?:\.\d+)?(?:e[-+]?\d+)?)|true|false|null|~|\{\}|\[\])\s*$/i;
const BLOCK = /^\s*[|>][-+\d]*\s*$/;

export function yamlTokens(text: string): readonly (readonly YamlToken[])[] {
  /** Lines with more indentation belong to a block scalar; undefined outside of one. */
  let block: number | undefined;
  return text.split('\n').map((line) => {
    const indent = line.length - line.trimStart().length;
    if (block !== undefined && (line.trim() === '' || indent > block))
      return line === '' ? [] : [{ kind: 'text', text: line }];
    block = undefined;
    const [, prefix = '', key = '', rest = ''] = LINE.exec(line) ?? [];
    if (BLOCK.test(rest)) block = key === '' ? Math.max(0, prefix.lastIndexOf('-')) : prefix.length;
    const tokens: YamlToken[] = [
      { kind: 'mark', text: prefix },
      { kind: 'key', text: key },
      { kind: VALUE.test(rest) ? 'value' : BLOCK.test(rest) ? 'mark' : 'text', text: rest },
    ];
    return tokens.filter(({ text: piece }) => piece !== '');
  });
}

/** Property names as identifiers of the language. Upstream: apiserver/pkg/cel/escaping.go. */

const KEYWORDS = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);
const ESCAPABLE = /^[A-Za-z_./-][A-Za-z0-9_./-]*$/;
const PARTS: Readonly<Record<string, string>> = {
  __: '__underscores__',
  '.': '__dot__',
  '-': '__dash__',
  '/': '__slash__',
};

/** The identifier of a property, or undefined for a name that cannot be spelled. */
export function escapeName(name: string): string | undefined {
  if (!ESCAPABLE.test(name)) return undefined;
  if (KEYWORDS.has(name)) return `__${name}__`;
  return name.replaceAll(/__|[./-]/g, (part) => PARTS[part] ?? part);
}

/** All spellings of a field: a keyword is accepted escaped and unescaped. Upstream: SetRecognizeKeywordAsFieldName. */
export function fieldSpellings(name: string): readonly string[] {
  const escaped = escapeName(name);
  if (escaped === undefined) return [];
  return KEYWORDS.has(name) ? [escaped, name] : [escaped];
}

/**
 * Expands `$(NAME)` references in commands, arguments and environment values. `$$` is a literal dollar; unresolved
 * references stay as written. Upstream: third_party/forked/golang/expansion.
 */

/** The size limit of a message to a container runtime; upstream's client has the same. */
export const MAX_EXPANDED_LENGTH = 16 * 1024 * 1024;

/**
 * The expanded text is longer than any container can use: references to references can double a text with each
 * variable.
 */
export class ExpansionError extends Error {
  constructor() {
    super(
      `references make more than ${MAX_EXPANDED_LENGTH} characters, the most a message to the container runtime holds`,
    );
    this.name = 'ExpansionError';
  }
}

/** Expands references; `lookup` returns undefined for unknown names. @throws ExpansionError */
export function expand(text: string, lookup: (name: string) => string | undefined): string {
  if (!text.includes('$')) return text;
  let out = '';
  const lastEnd = text.lastIndexOf(')');
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char !== '$' || at + 1 >= text.length) {
      out += char;
      continue;
    }
    const next = text[at + 1]!;
    if (next === '$') {
      out += '$';
      at++;
    } else if (next !== '(') {
      out += `$${next}`;
      at++;
    } else {
      const end = at + 2 > lastEnd ? -1 : text.indexOf(')', at + 2);
      if (end < 0) {
        out += '$(';
        at++;
      } else {
        const name = text.slice(at + 2, end);
        out += lookup(name) ?? `$(${name})`;
        if (out.length > MAX_EXPANDED_LENGTH) throw new ExpansionError();
        at = end;
      }
    }
  }
  return out;
}

/** Expands references and returns the first unresolved name, for subPathExpr. */
export function expandStrict(
  text: string,
  lookup: (name: string) => string | undefined,
): { text: string; missing?: string } {
  let missing: string | undefined;
  const result = expand(text, (name) => {
    const value = lookup(name);
    if (value === undefined) missing ??= name;
    return value;
  });
  return missing === undefined ? { text: result } : { text: result, missing };
}

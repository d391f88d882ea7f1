/** Field selectors: `a=b,c!=d`. Upstream: apimachinery/pkg/fields. */

export interface FieldRequirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** All terms must match; without terms the selector matches everything. */
export type FieldSelector = readonly FieldRequirement[];

/** The error of an invalid field selector, with upstream's message. */
export class FieldSelectorError extends Error {
  override readonly name = 'FieldSelectorError';
}

/** Stops at the first term beyond the limit. */
function splitTerms(text: string, maxTerms: number): string[] {
  const terms: string[] = [];
  let start = 0;
  const addUntil = (end: number): void => {
    if (end > start) terms.push(text.slice(start, end));
    if (terms.length > maxTerms)
      throw new FieldSelectorError(`the field selector has too many requirements: at most ${maxTerms} are allowed`);
    start = end + 1;
  };
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '\\') index++;
    else if (text[index] === ',') addUntil(index);
  }
  addUntil(text.length);
  return terms;
}

/** Removes the backslash from escaped `\`, `,` and `=`. */
function unescapeValue(value: string): string {
  let out = '';
  let isEscaped = false;
  for (const char of value) {
    const isSpecial = char === '\\' || char === ',' || char === '=';
    if (isEscaped && !isSpecial) throw escapeError(`\\${char}`);
    if (!isEscaped && isSpecial && char !== '\\')
      // As upstream, which prints the number of the character.
      throw new FieldSelectorError(`invalid field selector: unescaped character in value: ${char.codePointAt(0)}`);
    isEscaped = !isEscaped && char === '\\';
    if (!isEscaped) out += char;
  }
  if (isEscaped) throw escapeError('\\');
  return out;
}

function escapeError(sequence: string): FieldSelectorError {
  return new FieldSelectorError(`invalid field selector: invalid escape sequence: ${sequence}`);
}

function parseTerm(term: string, whole: string): FieldRequirement {
  const match = /^(.*?)(!=|==|=)(.*)$/s.exec(term);
  if (match === null) throw new FieldSelectorError(`invalid selector: '${whole}'; can't understand '${term}'`);
  return { field: match[1]!, operator: match[2] === '!=' ? '!=' : '=', value: unescapeValue(match[3]!) };
}

/**
 * Parses a field selector, at most `maxTerms` terms of it. Terms are parsed in alphabetical order, which decides the error that
 * is reported. A term without field and value selects everything. Throws {@link FieldSelectorError}.
 */
export function parseFieldSelector(text: string, maxTerms = Infinity): FieldSelector {
  const terms = splitTerms(text, maxTerms).toSorted();
  return terms.map((term) => parseTerm(term, text)).filter(({ field, value }) => field !== '' || value !== '');
}

/** Whether an object's selectable fields match the selector. A missing field counts as empty. */
export function matchesFields(selector: FieldSelector, fields: Readonly<Record<string, string>>): boolean {
  return selector.every(({ field, operator, value }) => ((fields[field] ?? '') === value) === (operator === '='));
}

/** Escapes a value for a selector. Upstream: fields.EscapeValue. */
export function escapeFieldValue(value: string): string {
  return value.replaceAll(/[\\,=]/g, '\\$&');
}

/** The text of a selector that requires these values, escaped where necessary. Upstream: fields.Set.AsSelector. */
export function fieldSelectorOf(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([field, value]) => `${field}=${escapeFieldValue(value)}`)
    .join(',');
}

/** The value that the selector requires of `field`, if any. With a required name, a list reads a single object. */
export function requiredFieldValue(selector: FieldSelector, field: string): string | undefined {
  return selector.find((requirement) => requirement.field === field && requirement.operator === '=')?.value;
}

/** Field selectors: `a=b,c!=d`. Upstream: apimachinery/pkg/fields. */

export interface FieldRequirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** All terms must hold; none: everything. */
export type FieldSelector = readonly FieldRequirement[];

/** The text is no field selector; the message is upstream's. */
export class FieldSelectorError extends Error {
  override readonly name = 'FieldSelectorError';
}

function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '\\') index++;
    else if (text[index] === ',') {
      terms.push(text.slice(start, index));
      start = index + 1;
    }
  }
  terms.push(text.slice(start));
  return terms.filter((term) => term !== '');
}

/** Takes the backslash off escaped `\`, `,` and `=`. */
function unescapeValue(value: string): string {
  let out = '';
  let isEscaped = false;
  for (const char of value) {
    const isSpecial = char === '\\' || char === ',' || char === '=';
    if (isEscaped && !isSpecial) throw escapeError(`\\${char}`);
    if (!isEscaped && isSpecial && char !== '\\')
      // Go prints the character's number.
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
 * Parses a field selector. Terms are read in the order of their texts, which decides which fault is reported. A term
 * without field and value selects everything. Throws {@link FieldSelectorError}.
 */
export function parseFieldSelector(text: string): FieldSelector {
  const terms = splitTerms(text).toSorted();
  return terms.map((term) => parseTerm(term, text)).filter(({ field, value }) => field !== '' || value !== '');
}

/** Whether an object's selectable fields satisfy the selector; a field it does not have counts as empty. */
export function matchesFields(selector: FieldSelector, fields: Readonly<Record<string, string>>): boolean {
  return selector.every(({ field, operator, value }) => ((fields[field] ?? '') === value) === (operator === '='));
}

/** The value the selector demands of `field` exactly, if any: lets a list become a get. */
export function requiredFieldValue(selector: FieldSelector, field: string): string | undefined {
  return selector.find((requirement) => requirement.field === field && requirement.operator === '=')?.value;
}

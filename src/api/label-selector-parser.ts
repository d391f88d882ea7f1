/**
 * The text form of label selectors: `a=b,c!=d,e in (x,y),f notin (z),g,!h,i>5`. A tokenizer and a recursive-descent
 * parser with upstream's error texts. Upstream: apimachinery/pkg/labels/selector.go.
 */
import { quote } from '../base/go-quote.ts';
import { compileRequirements, type LabelMatcher, type LabelOperator, type LabelRequirement } from './label-selector.ts';
import { isLabelValue, isQualifiedName } from './names.ts';

/** The error of an invalid label selector, with upstream's message. */
export class LabelSelectorParseError extends Error {
  override readonly name = 'LabelSelectorParseError';
}

interface Token {
  readonly kind: 'identifier' | 'symbol' | 'end';
  readonly text: string;
}

const TOKEN = /\s*(?:(==|!=|[=!(),<>])|([^\s=!(),<>]+)|$)/gy;
const BINARY_OPERATORS = 'in, notin, =, ==, !=, gt, lt';

const END: Token = { kind: 'end', text: '' };

/** The limits of a selector. A longer selector is not parsed to its end. */
export interface LabelSelectorLimits {
  readonly requirements: number;
  /** The number of values of all requirements together. */
  readonly values: number;
}

class Parser {
  readonly #text: string;
  readonly #limits: LabelSelectorLimits;
  /** The index at which the token after `#token` begins. */
  #at = 0;
  #token: Token;
  #values = 0;

  constructor(text: string, limits: LabelSelectorLimits) {
    this.#text = text;
    this.#limits = limits;
    this.#token = this.#read();
  }

  #read(): Token {
    if (this.#at >= this.#text.length) return END;
    TOKEN.lastIndex = this.#at;
    const match = TOKEN.exec(this.#text);
    this.#at = TOKEN.lastIndex;
    if (match?.[1] !== undefined) return { kind: 'symbol', text: match[1] };
    if (match?.[2] !== undefined) return { kind: 'identifier', text: match[2] };
    this.#at = this.#text.length;
    return END;
  }

  parse(): LabelRequirement[] {
    const requirements: LabelRequirement[] = [];
    while (this.#peek().kind !== 'end') {
      const token = this.#peek();
      if (token.kind !== 'identifier' && token.text !== '!')
        fail(`found '${token.text}', expected: !, identifier, or 'end of string'`);
      requirements.push(this.#requirement());
      if (requirements.length > this.#limits.requirements) tooMany(this.#limits.requirements, 'requirements');
      const after = this.#take();
      if (after.kind === 'end') break;
      if (after.text !== ',') fail(`found '${after.text}', expected: ',' or 'end of string'`);
      const follower = this.#peek();
      if (follower.kind !== 'identifier' && follower.text !== '!')
        fail(`found '${follower.text}', expected: identifier after ','`);
    }
    return requirements;
  }

  #peek(): Token {
    return this.#token;
  }
  #take(): Token {
    const token = this.#token;
    if (token.kind !== 'end') this.#token = this.#read();
    return token;
  }

  #countValue(): void {
    if (++this.#values > this.#limits.values) tooMany(this.#limits.values, 'values');
  }

  #requirement(): LabelRequirement {
    const negated = this.#peek().text === '!' && this.#take().kind === 'symbol';
    const key = this.#take();
    if (key.kind !== 'identifier') wrap(`found '${key.text}', expected: identifier`);
    checkKey(key.text);
    const follower = this.#peek();
    if (negated) return { key: key.text, operator: '!', values: [] };
    if (follower.kind === 'end' || follower.text === ',') return { key: key.text, operator: 'exists', values: [] };
    const operator = this.#operator();
    const values = operator === 'in' || operator === 'notin' ? this.#list() : [this.#exactValue()];
    return checked({ key: key.text, operator, values });
  }

  #operator(): LabelOperator {
    const token = this.#take();
    switch (token.text) {
      case 'in':
      case 'notin':
      case '=':
      case '==':
      case '!=':
        return token.text;
      case '>':
        return 'gt';
      case '<':
        return 'lt';
      default:
        return wrap(`found '${token.text}', expected: ${BINARY_OPERATORS}`);
    }
  }

  #exactValue(): string {
    this.#countValue();
    const token = this.#peek();
    if (token.kind === 'end' || token.text === ',') return '';
    if (token.kind !== 'identifier') wrap(`found '${token.text}', expected: identifier`);
    return this.#take().text;
  }

  #list(): string[] {
    const open = this.#take();
    if (open.text !== '(') wrap(`found '${open.text}' expected: '('`);
    const values = new Set<string>();
    let needsValue = true;
    for (;;) {
      const token = this.#take();
      if (token.kind === 'identifier' || (needsValue && token.text === ',')) this.#countValue();
      if (token.kind === 'identifier') {
        values.add(token.text);
        needsValue = false;
        const after = this.#peek();
        if (after.text !== ',' && after.text !== ')') wrap(`found '${after.text}', expected: ',' or ')'`);
      } else if (token.text === ',') {
        if (needsValue) values.add('');
        needsValue = true;
      } else if (token.text === ')') {
        // `(a,)` and `()` contain the empty value.
        if (needsValue) values.add('');
        return [...values].toSorted();
      } else {
        wrap(`found '${token.text}', expected: ',', ')' or identifier`);
      }
    }
  }
}

function fail(message: string): never {
  throw new LabelSelectorParseError(message);
}

function tooMany(most: number, what: string): never {
  fail(`the label selector has too many ${what}: at most ${most} are allowed`);
}

function wrap(message: string): never {
  throw new LabelSelectorParseError(`unable to parse requirement: ${message}`);
}

function checkKey(key: string): void {
  const complaints = isQualifiedName(key);
  if (complaints.length > 0) wrap(`<nil>: Invalid value: ${quote(key)}: ${complaints.join('; ')}`);
}

function checked(requirement: LabelRequirement): LabelRequirement {
  const { key, operator, values } = requirement;
  if ((operator === 'gt' || operator === 'lt') && !/^[+-]?\d+$/.test(values[0]!)) {
    wrap(`values[0]: Invalid value: ${quote(values[0]!)}: for 'Gt', 'Lt' operators, the value must be an integer`);
  }
  for (const [index, value] of values.entries()) {
    const complaints = isLabelValue(value);
    if (complaints.length > 0)
      wrap(`values[${index}][${key}]: Invalid value: ${quote(value)}: ${complaints.join('; ')}`);
  }
  return requirement;
}

/** Throws {@link LabelSelectorParseError}. */
function parseLabelRequirements(text: string, limits: LabelSelectorLimits): LabelRequirement[] {
  return new Parser(text, limits).parse();
}

const UNLIMITED: LabelSelectorLimits = { requirements: Infinity, values: Infinity };

/** Parses and compiles a selector; an empty text selects everything. Throws {@link LabelSelectorParseError}. */
export function parseLabelSelector(text: string, limits = UNLIMITED): LabelMatcher {
  return compileRequirements(parseLabelRequirements(text, limits));
}

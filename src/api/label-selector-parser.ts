/**
 * The text form of label selectors: `a=b,c!=d,e in (x,y),f notin (z),g,!h,i>5`. A tokenizer and a recursive-descent
 * parser with upstream's error texts. Upstream: apimachinery/pkg/labels/selector.go.
 */
import { quote } from '../base/go-quote.ts';
import { compileRequirements, type LabelMatcher, type LabelOperator, type LabelRequirement } from './label-selector.ts';
import { isLabelValue, isQualifiedName } from './names.ts';

/** The text is no label selector; the message is upstream's. */
export class LabelSelectorParseError extends Error {
  override readonly name = 'LabelSelectorParseError';
}

interface Token {
  readonly kind: 'identifier' | 'symbol' | 'end';
  readonly text: string;
}

const TOKEN = /\s*(?:(==|!=|[=!(),<>])|([^\s=!(),<>]+)|$)/gy;
const BINARY_OPERATORS = 'in, notin, =, ==, !=, gt, lt';

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const match = TOKEN.exec(text);
    if (match === null) break;
    if (match[1] !== undefined) tokens.push({ kind: 'symbol', text: match[1] });
    else if (match[2] !== undefined) tokens.push({ kind: 'identifier', text: match[2] });
    else break;
  }
  tokens.push({ kind: 'end', text: '' });
  return tokens;
}

class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;
  constructor(text: string) {
    this.#tokens = tokenize(text);
  }

  parse(): LabelRequirement[] {
    const requirements: LabelRequirement[] = [];
    while (this.#peek().kind !== 'end') {
      const token = this.#peek();
      if (token.kind !== 'identifier' && token.text !== '!')
        fail(`found '${token.text}', expected: !, identifier, or 'end of string'`);
      requirements.push(this.#requirement());
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
    return this.#tokens[this.#next]!;
  }
  #take(): Token {
    const token = this.#peek();
    if (token.kind !== 'end') this.#next++;
    return token;
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
      if (token.kind === 'identifier') {
        values.add(token.text);
        needsValue = false;
        const after = this.#peek();
        if (after.text !== ',' && after.text !== ')') wrap(`found '${after.text}', expected: ',' or ')'`);
      } else if (token.text === ',') {
        if (needsValue) values.add('');
        needsValue = true;
      } else if (token.text === ')') {
        // `(a,)` and `()` name the empty value.
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

/** Parses a selector text into requirements. Throws {@link LabelSelectorParseError}. */
function parseLabelRequirements(text: string): LabelRequirement[] {
  return new Parser(text).parse();
}

/** Parses and compiles a selector text; empty selects everything. Throws {@link LabelSelectorParseError}. */
export function parseLabelSelector(text: string): LabelMatcher {
  return compileRequirements(parseLabelRequirements(text));
}

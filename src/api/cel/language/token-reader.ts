/**
 * Reads tokens; its errors about unexpected tokens are those of upstream's generated parser. Upstream: cel-go parser and antlr's
 * DefaultErrorStrategy.
 */
import { chargeWork } from '../meter.ts';
import { AFTER_OPERAND } from './operators.ts';
import type { Issue } from './source.ts';
import { type Token, tokensOf, type TokenType, typesText } from './tokens.ts';

/** Thrown when parsing cannot continue after a syntax error. */
export class SyntaxStop extends Error {}

/** Units of work for parsing, checking and planning one token. */
const TOKEN_WORK = 40;

/** The tokens that an expression may begin with. */
export const STARTS: ReadonlySet<TokenType> = new Set([
  "'['",
  "'{'",
  "'('",
  "'.'",
  "'-'",
  "'!'",
  "'true'",
  "'false'",
  "'null'",
  'NUM_FLOAT',
  'NUM_INT',
  'NUM_UINT',
  'STRING',
  'BYTES',
  'IDENTIFIER',
]);

/** The tokens of one expression. */
export class TokenReader {
  readonly issues: Issue[] = [];
  readonly #tokens: readonly Token[];
  /** For each enclosing construct, the tokens that may follow an expression in it. */
  readonly #follow: (readonly TokenType[])[] = [['<EOF>']];
  #next = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text, this.issues);
    chargeWork(this.#tokens.length * TOKEN_WORK);
  }

  get token(): Token {
    return this.#tokens[this.#next]!;
  }

  is(type: TokenType): boolean {
    return this.token.type === type;
  }

  take(): Token {
    const { token } = this;
    if (token.type !== '<EOF>') this.#next++;
    return token;
  }

  takeIf(type: TokenType): Token | undefined {
    return this.is(type) ? this.take() : undefined;
  }

  ahead(distance: number): TokenType {
    return (this.#tokens[this.#next + distance] ?? this.#tokens.at(-1)!).type;
  }

  /** Parses a construct in which an expression may be followed by these tokens. */
  within<T>(follow: readonly TokenType[], read: () => T): T {
    this.#follow.push(follow);
    const made = read();
    this.#follow.pop();
    return made;
  }

  report(at: number, message: string): void {
    this.issues.push({ at, message });
  }

  /** Consumes a token of this type. A superfluous token before it, or a missing token, is reported and skipped. */
  expect(type: TokenType): Token {
    const { token } = this;
    if (token.type === type) return this.take();
    if (this.ahead(1) === type) {
      this.#syntax(token, `extraneous input ${shown(token)} expecting ${typesText([type])}`);
      this.take();
      return this.take();
    }
    if (!this.#mayFollow(type, token.type)) return this.mismatch([type]);
    this.#syntax(token, `missing ${typesText([type])} at ${shown(token)}`);
    return { type, text: '', at: token.at };
  }

  /** Skips one superfluous token before one of these. Throws {@link SyntaxStop} when none of them follows. */
  sync(types: Iterable<TokenType>): void {
    const expected = new Set(types);
    const { token } = this;
    if (expected.has(token.type)) return;
    if (!expected.has(this.ahead(1))) this.mismatch(expected);
    this.#syntax(token, `extraneous input ${shown(token)} expecting ${typesText(expected)}`);
    this.take();
  }

  /** Reports the token as unexpected and throws {@link SyntaxStop}. */
  mismatch(types: Iterable<TokenType>): never {
    this.#syntax(this.token, `mismatched input ${shown(this.token)} expecting ${typesText(types)}`);
    throw new SyntaxStop();
  }

  /** Reports that no alternative of the grammar continues behind `before` (`.` or `-`), and throws {@link SyntaxStop}. */
  noAlternative(before: string): never {
    const { token } = this;
    if (token.type === "'true'" || token.type === "'false'" || token.type === "'null'") this.mismatch(['IDENTIFIER']);
    const input = token.type === '<EOF>' ? before : before + token.text;
    this.#syntax(token, `no viable alternative at input '${input}'`);
    throw new SyntaxStop();
  }

  /** Whether a token may follow the missing token, so that parsing continues without it. */
  #mayFollow(missing: TokenType, type: TokenType): boolean {
    if (missing === "':'") return STARTS.has(type);
    return AFTER_OPERAND.has(type) || (this.#follow.at(-1) ?? []).includes(type);
  }

  #syntax(token: Token, message: string): void {
    this.report(token.at, `Syntax error: ${message}`);
  }
}

function shown({ text }: Token): string {
  return `'${text.replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t')}'`;
}

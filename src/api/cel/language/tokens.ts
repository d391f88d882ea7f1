/** Tokens of an expression. Upstream: the lexer rules of cel-go parser/gen/CEL.g4. */
import type { Issue } from './source.ts';

/** Token types by their names in messages, in the order of antlr's lists. */
const TOKEN_TYPES = [
  '<EOF>',
  "'=='",
  "'!='",
  "'in'",
  "'<'",
  "'<='",
  "'>='",
  "'>'",
  "'&&'",
  "'||'",
  "'['",
  "']'",
  "'{'",
  "'}'",
  "'('",
  "')'",
  "'.'",
  "','",
  "'-'",
  "'!'",
  "'?'",
  "':'",
  "'+'",
  "'*'",
  "'/'",
  "'%'",
  "'true'",
  "'false'",
  "'null'",
  'NUM_FLOAT',
  'NUM_INT',
  'NUM_UINT',
  'STRING',
  'BYTES',
  'IDENTIFIER',
  'ESC_IDENTIFIER',
] as const;

export type TokenType = (typeof TOKEN_TYPES)[number];

const ORDER: ReadonlyMap<TokenType, number> = new Map(TOKEN_TYPES.map((type, index) => [type, index]));

export interface Token {
  readonly type: TokenType;
  readonly text: string;
  /** Offset in code points. */
  readonly at: number;
}

/** Token types formatted as messages list them. */
export function typesText(types: Iterable<TokenType>): string {
  const sorted = [...types].toSorted((a, b) => ORDER.get(a)! - ORDER.get(b)!);
  return sorted.length === 1 ? sorted[0]! : `{${sorted.join(', ')}}`;
}

const KEYWORDS: ReadonlySet<string> = new Set(['in', 'true', 'false', 'null']);
const SKIPPED = /(?:[\t \r\n\f]|\/\/[^\n]*)+/y;
const IDENTIFIER = /[A-Za-z_]\w*/y;
const ESCAPED_IDENTIFIER = /`[\w.\-/ ]+`/y;
const FLOAT = /(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)/y;
const UINT = /(?:0x[\da-fA-F]+|\d+)[uU]/y;
const INT = /0x[\da-fA-F]+|\d+/y;
const OPERATOR = /==|!=|<=|>=|&&|\|\||[<>[\]{}().,\-!?:+*/%]/y;
const ESCAPE = String.raw`\\(?:[abfnrtv"'\\?${'`'}]|[xX][\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[0-3][0-7]{2})`;
const TRIPLE = String.raw`"""(?:${ESCAPE}|[^\\])*?"""|'''(?:${ESCAPE}|[^\\])*?'''|[rR]"""[^]*?"""|[rR]'''[^]*?'''`;
const SINGLE = String.raw`"(?:${ESCAPE}|[^\\"\n\r])*"|'(?:${ESCAPE}|[^\\'\n\r])*'|[rR]"[^"\n\r]*"|[rR]'[^'\n\r]*'`;
const STRING = new RegExp(`([bB]?)(?:${TRIPLE}|${SINGLE})`, 'y');
/** The longest prefix of an unterminated string; lexing fails at the character behind it. */
const OPEN_STRING = new RegExp(String.raw`"(?:${ESCAPE}|[^\\"\n\r])*|'(?:${ESCAPE}|[^\\'\n\r])*`, 'y');
const OPEN_ESCAPE = /\\(?:[xX][\da-fA-F]?|u[\da-fA-F]{0,3}|U[\da-fA-F]{0,7}|[0-3][0-7]?)?/y;

const RULES: readonly (readonly [RegExp, TokenType | undefined])[] = [
  [STRING, 'STRING'],
  [FLOAT, 'NUM_FLOAT'],
  [UINT, 'NUM_UINT'],
  [INT, 'NUM_INT'],
  [IDENTIFIER, 'IDENTIFIER'],
  [ESCAPED_IDENTIFIER, 'ESC_IDENTIFIER'],
  [OPERATOR, undefined],
];

/** All tokens, including the end token. Adds an issue for each part that is no token. */
export function tokensOf(text: string, issues: Issue[]): Token[] {
  const offsetOf = codePointOffsets(text);
  const tokens: Token[] = [];
  for (let index = skip(text, 0); index < text.length;) {
    const token = tokenAt(text, index);
    if (token === undefined) {
      const end = failureEnd(text, index);
      const shown = text.slice(index, end).replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');
      issues.push({
        at: offsetOf(index),
        message: `Syntax error: token recognition error at: '${shown}'`,
      });
      index = skip(text, end);
    } else {
      tokens.push({ ...token, at: offsetOf(index) });
      index = skip(text, index + token.text.length);
    }
  }
  return [...tokens, { type: '<EOF>', text: '<EOF>', at: offsetOf(text.length) }];
}

function match(pattern: RegExp, text: string, index: number): RegExpExecArray | null {
  pattern.lastIndex = index;
  return pattern.exec(text);
}

function skip(text: string, index: number): number {
  return index + (match(SKIPPED, text, index)?.[0].length ?? 0);
}

function tokenAt(text: string, index: number): { type: TokenType; text: string } | undefined {
  for (const [pattern, type] of RULES) {
    const found = match(pattern, text, index);
    if (found === null) continue;
    const [spelled, prefix] = found;
    if (type === 'STRING' && prefix !== '') return { type: 'BYTES', text: spelled };
    if (type === undefined || KEYWORDS.has(spelled)) return { type: `'${spelled}'` as TokenType, text: spelled };
    return { type, text: spelled };
  }
  return undefined;
}

/** The index at which lexing continues: behind the character at which it failed. */
function failureEnd(text: string, index: number): number {
  const open = match(OPEN_STRING, text, index)?.[0].length ?? match(/[&|=]|`[\w.\-/ ]*/y, text, index)?.[0].length ?? 0;
  const escape = open === 0 ? 0 : (match(OPEN_ESCAPE, text, index + open)?.[0].length ?? 0);
  const failed = index + open + escape;
  return Math.min(text.length, failed + String.fromCodePoint(text.codePointAt(failed) ?? 0).length);
}

function codePointOffsets(text: string): (index: number) => number {
  if (!/[\ud800-\udfff]/.test(text)) return (index) => index;
  let [known, count] = [0, 0];
  return (index) => {
    if (index < known) [known, count] = [0, 0];
    for (; known < index; count++) known += text.codePointAt(known)! > 0xffff ? 2 : 1;
    return count;
  };
}

/** Binary operators by their tokens. Upstream: the rules relation and calc of cel-go parser/gen/CEL.g4. */
import type { TokenType } from './tokens.ts';

/** Names of functions by operator token. */
export type Operators = Partial<Record<TokenType, string>>;

export const RELATIONS: Operators = {
  "'=='": '_==_',
  "'!='": '_!=_',
  "'<'": '_<_',
  "'<='": '_<=_',
  "'>'": '_>_',
  "'>='": '_>=_',
  "'in'": '@in',
};
export const SUMS: Operators = { "'+'": '_+_', "'-'": '_-_' };
export const PRODUCTS: Operators = { "'*'": '_*_', "'/'": '_/_', "'%'": '_%_' };

/** The tokens that may follow an operand. */
export const AFTER_OPERAND: ReadonlySet<TokenType> = new Set([
  ...([RELATIONS, SUMS, PRODUCTS].flatMap(Object.keys) as TokenType[]),
  "'&&'",
  "'||'",
  "'['",
  "'.'",
  "'?'",
]);

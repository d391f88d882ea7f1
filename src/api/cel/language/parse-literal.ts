/** Literals and bracketed lists of elements in CEL's grammar. */
import type { Expr } from './expr.ts';
import { bytesOf, doubleOf, intOf, textOf, uintOf } from './literals.ts';
import type { TokenReader } from './token-reader.ts';
import { STARTS } from './token-reader.ts';

/** A number, text, bytes, null or boolean. */
export function parseLiteral(reader: TokenReader): Expr {
  const { at } = reader.token;
  const sign = reader.takeIf("'-'")?.text ?? '';
  if (sign !== '' && !reader.is('NUM_INT') && !reader.is('NUM_FLOAT')) reader.noAlternative('-');
  const { type, text } = reader.take();
  switch (type) {
    case 'NUM_INT':
      return valueOf(reader, at, intOf(sign + text), 'invalid int literal');
    case 'NUM_UINT':
      return valueOf(reader, at, uintOf(text), 'invalid uint literal');
    case 'NUM_FLOAT':
      return valueOf(reader, at, doubleOf(sign + text), 'invalid double literal');
    case 'STRING':
      return quotedOf(reader, at, textOf(text));
    case 'BYTES':
      return quotedOf(reader, at, bytesOf(text.slice(1)));
    default:
      return { kind: 'literal', at, value: type === "'null'" ? null : type === "'true'" };
  }
}

function valueOf(reader: TokenReader, at: number, value: unknown, problem: string): Expr {
  if (value !== undefined) return { kind: 'literal', at, value };
  reader.report(at, problem);
  return { kind: 'unspecified', at };
}

function quotedOf(
  reader: TokenReader,
  at: number,
  read: { readonly value: unknown } | { readonly problem: string },
): Expr {
  if ('value' in read) return { kind: 'literal', at, value: read.value };
  reader.report(at, read.problem);
  return { kind: 'unspecified', at };
}

/** Elements between brackets, separated by commas; a trailing comma is allowed. */
export function parseElements(reader: TokenReader, close: "']'" | "'}'", read: () => void): void {
  reader.within([close, "','"], () => {
    if (!reader.is(close) && !reader.is("','")) {
      reader.sync([...STARTS, "'?'", "','", close]);
      read();
      for (;;) {
        if (!reader.is("','") || reader.ahead(1) === close) break;
        if (!STARTS.has(reader.ahead(1)) && reader.ahead(1) !== "'?'") break;
        reader.take();
        read();
      }
      reader.sync(["','", close]);
    }
    reader.takeIf("','");
  });
  reader.expect(close);
}

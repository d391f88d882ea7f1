/** Tokens that continue a paged list: the next key and the revision. Upstream: storage.EncodeContinue. */
import { parseJson } from '../../api/codec/json.ts';
import { isObject } from '../../api/codec/own-property.ts';
import { badRequest, type StatusError } from '../../api/status-error.ts';

/** The position at which a list continues. */
export interface ContinueToken {
  /** -1: any revision, since the list is no longer consistent. */
  readonly revision: number;
  /** The next key, relative to the list's key prefix. */
  readonly start: string;
}

/** Encodes a token as text. */
export function encodeContinue(token: ContinueToken): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: token.revision, start: token.start })).toString(
    'base64url',
  );
}

function invalidToken(why: string): StatusError {
  return badRequest(`invalid continue token: continue key is not valid: ${why}`);
}

const BASE64_URL = /^[A-Za-z0-9_-]*$/;

function parse(text: string): object {
  if (!BASE64_URL.test(text)) throw invalidToken(`illegal base64 data at input byte ${text.search(/[^A-Za-z0-9_-]/)}`);
  if (text.length % 4 === 1) throw invalidToken(`illegal base64 data at input byte ${text.length - 1}`);
  try {
    const { value } = parseJson(Buffer.from(text, 'base64url').toString('utf8'));
    return isObject(value) ? value : {};
  } catch (error) {
    throw invalidToken((error as Error).message.replaceAll('\uFFFD', '?'));
  }
}

/** Decodes a token. Throws 400. */
export function decodeContinue(text: string): ContinueToken {
  const { v, rv, start } = parse(text) as { v?: unknown; rv?: unknown; start?: unknown };
  if (v !== 'meta.k8s.io/v1')
    throw invalidToken(
      `server does not recognize this encoded version ${JSON.stringify(typeof v === 'string' ? v : '')}`,
    );
  if (typeof rv !== 'number' || !Number.isSafeInteger(rv) || rv === 0 || rv < -1)
    throw invalidToken('incorrect encoded start resourceVersion (version meta.k8s.io/v1)');
  if (typeof start !== 'string' || start === '' || start.startsWith('/') || start.includes('..'))
    throw invalidToken('encoded start key empty or invalid');
  return { revision: rv, start };
}

/** Tokens that continue a list in pages: where it goes on, and as of which revision. Upstream: storage.EncodeContinue. */
import { badRequest } from '../../api/status-error.ts';

/** A list that goes on. */
export interface ContinueToken {
  /** -1: at whatever revision, the list is no longer consistent. */
  readonly revision: number;
  /** First key still to be listed, below the list's key prefix. */
  readonly start: string;
}

/** Makes the token's text. */
export function encodeContinue(token: ContinueToken): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: token.revision, start: token.start })).toString('base64url');
}

/** Reads a token. Throws 400. */
export function decodeContinue(text: string): ContinueToken {
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch (error) {
    throw badRequest(`continue key is not valid: ${(error as Error).message}`);
  }
  const { v, rv, start } = (parsed ?? {}) as { v?: unknown; rv?: unknown; start?: unknown };
  if (v !== 'meta.k8s.io/v1') throw badRequest(`continue key is not valid: server does not recognize this encoded version "${String(v ?? '')}"`);
  if (typeof rv !== 'number' || !Number.isSafeInteger(rv) || rv === 0) throw badRequest('continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)');
  if (typeof start !== 'string' || start === '' || start.startsWith('/') || start.includes('..')) throw badRequest('continue key is not valid: encoded start key empty or invalid');
  return { revision: rv, start };
}

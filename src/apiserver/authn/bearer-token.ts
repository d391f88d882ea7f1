/**
 * Bearer tokens: reads the token from the Authorization header and tries the token authenticators in order. A token
 * that none recognizes is a 401. Results are cached briefly by token, so that a busy client costs no signature check
 * per request. Upstream: request/bearertoken, request/websocket and token/cache.
 */
import { errorMessage } from '../../base/errors.ts';
import { Lru } from '../../base/lru.ts';
import type { ApiRequest, Principal } from '../../api/transport.ts';
import { unauthorized } from '../../api/status-error.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log, LogFields } from '../../platform/log.ts';
import type { Authenticator } from './contract.ts';

/**
 * Authenticates one kind of token. Undefined for tokens of other kinds. Rejects when the token is invalid, expired or
 * not yet valid.
 */
export interface TokenAuthenticator {
  authenticateToken(token: string): Promise<Principal | undefined>;
}

export interface BearerTokenDeps {
  readonly clock: Clock;
  /** Logs the reason why a token is refused, which the client does not see. */
  readonly log: Log;
}

const CACHE_MS = 10_000;
const CACHE_SIZE = 4096;
/** The maximum length of a logged reason. */
const MAX_REASON = 300;

/** Authenticates `Authorization: Bearer …` through `kinds`, in order. */
export function createBearerTokenAuthenticator(
  kinds: readonly TokenAuthenticator[],
  { clock, log }: BearerTokenDeps,
): Authenticator {
  const cache = new Lru<string, { principal: Principal; untilMs: number }>(CACHE_SIZE);
  return {
    authenticate(request) {
      const token = bearerTokenOf(request.headers['authorization']) ?? socketToken(request);
      if (token === undefined) return undefined;
      const hit = cache.get(token);
      if (hit !== undefined && hit.untilMs > clock.monotonicMs()) return hit.principal;
      return verify(token, kinds, log).then((principal) => {
        cache.set(token, { principal, untilMs: clock.monotonicMs() + CACHE_MS });
        return principal;
      });
    },
  };
}

/** The token of an Authorization header. */
export function bearerTokenOf(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const [scheme, token] = header.trim().split(/ +/);
  return scheme?.toLowerCase() === 'bearer' && token !== undefined && token !== '' ? token : undefined;
}

const TOKEN_PROTOCOL = 'base64url.bearer.authorization.k8s.io.';

/**
 * Browsers cannot set headers of a WebSocket, so they send the token as one of its protocols, besides the one they
 * use.
 */
function socketToken({ headers, wantsUpgrade }: ApiRequest): string | undefined {
  const offered = headers['sec-websocket-protocol'];
  if (!wantsUpgrade || offered === undefined) return undefined;
  const protocols = offered.split(',').map((one) => one.trim());
  const own = protocols.filter((one) => one.startsWith(TOKEN_PROTOCOL));
  if (own.length !== 1 || protocols.length === 1) return undefined;
  return Buffer.from(own[0]!.slice(TOKEN_PROTOCOL.length), 'base64url').toString('utf8') || undefined;
}

/**
 * The log fields of an error: of a refusal only the message, which may contain the client's text; of a program error
 * also the stack.
 */
function whyOf(error: unknown): LogFields {
  if (error instanceof TypeError || error instanceof RangeError) return { err: error };
  const reason = errorMessage(error);
  return { reason: reason.slice(0, MAX_REASON) };
}

/** A refusal or error of one authenticator does not stop the others. */
async function verify(token: string, kinds: readonly TokenAuthenticator[], log: Log): Promise<Principal> {
  for (const kind of kinds) {
    const principal = await kind.authenticateToken(token).catch((err: unknown) => {
      log.warn('unable to authenticate the request', whyOf(err));
      return undefined;
    });
    if (principal !== undefined) return principal;
  }
  throw unauthorized();
}

/** The answers below `/console`, and the users that sessions' cookies stand for. */
import { methodNotAllowed } from '../../api/status-error.ts';
import type { ApiRequest, ApiResponse, Principal } from '../../api/transport.ts';
import type { Authenticator } from '../authn/contract.ts';
import type { RequestScope } from '../request-scope.ts';
import { objectResponse } from '../responses.ts';
import type { ConsolePorts } from './contract.ts';
import { securityHeaders } from './headers.ts';
import type { OidcSignIn } from './oidc/contract.ts';
import type { OidcRoutes } from './oidc/oidc-routes.ts';
import { isFromConsole, sessionIdOf } from './request-origin.ts';
import { serveLink, serveSession } from './session-routes.ts';
import { Sessions } from './sessions.ts';
import { serveFile } from './static-files.ts';

/** The console, loaded at its first request. */
export interface ServedConsole {
  /** Undefined: the request has no session, or may not use it. Rejects with 401 when the session's token is no longer valid. */
  authenticate(request: ApiRequest): Principal | undefined | Promise<Principal | undefined>;
  serve(scope: RequestScope): Promise<ApiResponse>;
}

/** How requests authenticate and browsers sign in. */
export interface ConsoleAuthentication {
  /** Authenticates by the Authorization header. */
  readonly tokens: Authenticator;
  /** Absent: there is no sign-in by OpenID Connect. */
  readonly signIn?: OidcSignIn | undefined;
}

export function createServedConsole(ports: ConsolePorts, { tokens, signIn }: ConsoleAuthentication): ServedConsole {
  const sessions = new Sessions(ports);
  const deps = { sessions, nowMs: () => ports.clock.nowMs() };
  let oidc: OidcRoutes | undefined;
  const loadOidc = async (source: OidcSignIn): Promise<OidcRoutes> => {
    const { OidcRoutes } = await import('./oidc/oidc-routes.ts');
    return (oidc ??= new OidcRoutes({ ...deps, ports, tokens, signIn: source }));
  };
  return {
    authenticate(request) {
      const { headers, peerCertificate, refusedCertificate } = request;
      if (headers['authorization'] !== undefined || peerCertificate !== undefined || refusedCertificate === true)
        return undefined;
      const id = sessionIdOf(request);
      if (id === undefined || !isFromConsole(request)) return undefined;
      const credential = sessions.find(id)?.credential;
      if (credential?.kind !== 'token') return credential?.user;
      return tokens.authenticate({ ...request, headers: { authorization: `Bearer ${credential.token}` } });
    },
    async serve(scope) {
      const { path, method } = scope.request;
      if (path === '/console/session') {
        requireMethod(method, ['GET', 'POST', 'DELETE']);
        return serveSession(deps, scope);
      }
      if (path === '/console/link') {
        requireMethod(method, ['POST']);
        return serveLink(deps, scope);
      }
      const isOidc = path === '/console/oidc' || path.startsWith('/console/oidc/');
      const issuer = isOidc ? await signIn?.issuer() : undefined;
      if (signIn !== undefined && issuer !== undefined) return (await loadOidc(signIn)).serve(issuer, scope);
      // Not 404, which browsers report as an error of the page.
      if (path === '/console/oidc') return noIssuer(scope.request);
      requireMethod(method, ['GET', 'HEAD']);
      return serveFile(ports.files, scope.request);
    },
  };
}

function noIssuer(request: ApiRequest): ApiResponse {
  requireMethod(request.method, ['GET']);
  return objectResponse(request, {
    status: 200,
    object: {},
    headers: { ...securityHeaders, 'cache-control': 'no-store' },
  });
}

function requireMethod(method: string, allowed: readonly string[]): void {
  if (!allowed.includes(method)) throw methodNotAllowed();
}

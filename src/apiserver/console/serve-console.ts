/** What answers below `/console`, and who a session's cookie stands for. */
import { methodNotAllowed } from '../../api/status-error.ts';
import type { ApiRequest, ApiResponse, Principal } from '../../api/transport.ts';
import type { Authenticator } from '../authn/contract.ts';
import type { RequestScope } from '../request-scope.ts';
import type { ConsolePorts } from './contract.ts';
import { isFromConsole, sessionIdOf } from './request-origin.ts';
import { serveLink, serveSession } from './session-routes.ts';
import { Sessions } from './sessions.ts';
import { serveFile } from './static-files.ts';

/** The console once somebody has asked for it. */
export interface ServedConsole {
  /** Undefined: the request has no session, or may not use it. Rejects with 401 when the session's token is no longer valid. */
  authenticate(request: ApiRequest): Principal | undefined | Promise<Principal | undefined>;
  serve(scope: RequestScope): Promise<ApiResponse>;
}

export function createServedConsole(ports: ConsolePorts, tokens: Authenticator): ServedConsole {
  const sessions = new Sessions(ports);
  const deps = { sessions, nowMs: () => ports.clock.nowMs() };
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
      requireMethod(method, ['GET', 'HEAD']);
      return serveFile(ports.files, scope.request);
    },
  };
}

function requireMethod(method: string, allowed: readonly string[]): void {
  if (!allowed.includes(method)) throw methodNotAllowed();
}

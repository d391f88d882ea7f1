/** The user of requests without credentials. Upstream: authentication/request/anonymous. Last of the chain. */
import { unauthorized } from '../../api/status-error.ts';
import type { Authenticator } from './contract.ts';

const ANONYMOUS = { name: 'system:anonymous', groups: ['system:unauthenticated'] } as const;

/**
 * Authenticates requests without credentials: invalid bearer tokens never get here, and an unverified certificate is
 * a 401. With `paths`, only requests for exactly these paths.
 */
export function createAnonymousAuthenticator(paths?: readonly string[]): Authenticator {
  const allowed = paths === undefined ? undefined : new Set(paths);
  return {
    authenticate({ path, refusedCertificate }) {
      if (allowed?.has(path) === false) return undefined;
      if (refusedCertificate === true) throw unauthorized();
      return ANONYMOUS;
    },
  };
}

/** The user of requests without credentials. Upstream: authentication/request/anonymous. Last of the chain. */
import type { Authenticator } from './contract.ts';

const ANONYMOUS = { name: 'system:anonymous', groups: ['system:unauthenticated'] } as const;

/**
 * Authenticates whoever brought no credentials at all; a wrong bearer token never gets this far. With `paths`, only
 * requests of these very paths.
 */
export function createAnonymousAuthenticator(paths?: readonly string[]): Authenticator {
  if (paths === undefined) return { authenticate: () => ANONYMOUS };
  const allowed = new Set(paths);
  return { authenticate: ({ path }) => (allowed.has(path) ? ANONYMOUS : undefined) };
}

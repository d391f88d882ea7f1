/** The user of requests without credentials. Upstream: authentication/request/anonymous. Last of the chain. */
import type { Authenticator } from './contract.ts';

const ANONYMOUS = { name: 'system:anonymous', groups: ['system:unauthenticated'] } as const;

/** Authenticates whoever brought no credentials at all; a wrong bearer token never gets this far. */
export const anonymousAuthenticator: Authenticator = {
  authenticate: () => ANONYMOUS,
};

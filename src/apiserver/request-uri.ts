/** The URI of a request as it is recorded: in audit events and in spans. */
import type { ApiRequest } from '../api/transport.ts';

/** Where an OpenID Connect issuer sends the browser back with a code. */
export const SIGN_IN_CALLBACK = '/console/oidc/callback';

/**
 * Without the query of the sign-in's callback. Its code is not used up when it reaches a browser that did not begin the
 * sign-in: who began it and reads the code in a record would be signed in as the browser's user.
 */
export function recordedUri({ path, query }: Pick<ApiRequest, 'path' | 'query'>): string {
  return query === '' || path === SIGN_IN_CALLBACK ? path : `${path}?${query}`;
}

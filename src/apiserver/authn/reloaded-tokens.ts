/** Authenticators of a configuration file that is read again when it changes. Upstream: the reload of `--authentication-config`. */
import { followFile, type FollowedFileDeps } from '../options/followed-file.ts';
import type { TokenAuthenticator } from './bearer-token.ts';

/** Makes the authenticator from the file's content at the start. */
export function createReloadedTokens(
  deps: Omit<FollowedFileDeps<readonly TokenAuthenticator[]>, 'what'>,
  { text, issuers: value }: { readonly text: string; readonly issuers: readonly TokenAuthenticator[] },
): TokenAuthenticator {
  const file = followFile({ ...deps, what: 'the authentication configuration' }, { text, value });
  return {
    async authenticateToken(token) {
      for (const issuer of await file.now()) {
        const user = await issuer.authenticateToken(token);
        if (user !== undefined) return user;
      }
      return undefined;
    },
  };
}

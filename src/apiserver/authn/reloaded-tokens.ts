/**
 * Token authenticators from a configuration file that is reloaded when it changes. Upstream: the reload of
 * `--authentication-config`.
 */
import { followFile, type FollowedFileDeps } from '../options/followed-file.ts';
import type { TokenAuthenticator } from './bearer-token.ts';

export interface ReloadedTokens extends TokenAuthenticator {
  /** Reads the file where it has changed. A file that cannot be used changes nothing. */
  reload(): Promise<void>;
}

/** Starts with the content that was read at the start. */
export function createReloadedTokens(
  deps: Omit<FollowedFileDeps<readonly TokenAuthenticator[]>, 'what'>,
  { text, issuers: value }: { readonly text: string; readonly issuers: readonly TokenAuthenticator[] },
): ReloadedTokens {
  const file = followFile({ ...deps, what: 'the authentication configuration' }, { text, value });
  return {
    async authenticateToken(token) {
      for (const issuer of await file.now()) {
        const user = await issuer.authenticateToken(token);
        if (user !== undefined) return user;
      }
      return undefined;
    },
    async reload() {
      await file.now();
    },
  };
}

/**
 * Token issuers of a file that may change while we run: before a token is judged the file is looked at, if the last look
 * was a minute ago, so that nothing need run while nobody comes. A file that cannot be used leaves the issuers as they
 * were. Upstream: the reload of `--authentication-config`, which looks by itself as often.
 */
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { TokenAuthenticator } from './bearer-token.ts';

const LOOK_MS = 60_000;

/** What following the file needs. */
export interface ReloadDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** The file's text now. */
  readonly read: () => Promise<string>;
  /** The issuers a text names. Rejects when it cannot be used. */
  readonly parse: (text: string) => Promise<readonly TokenAuthenticator[]>;
}

/** Makes the authenticator from what the file said at the start. */
export function createReloadedTokens(
  deps: ReloadDeps,
  start: { readonly text: string; readonly issuers: readonly TokenAuthenticator[] },
): TokenAuthenticator {
  const { clock, log } = deps;
  let { text, issuers } = start;
  let lookedMs = clock.monotonicMs();
  let looking: Promise<void> | undefined;
  const look = async (): Promise<void> => {
    try {
      const now = await deps.read();
      if (now === text) return;
      issuers = await deps.parse(now);
      text = now;
      log.info('the authentication configuration was read again');
    } catch (err) {
      log.error('the authentication configuration cannot be used; the one before stays', { err });
    }
  };
  const upToDate = async (): Promise<void> => {
    if (looking === undefined && clock.monotonicMs() - lookedMs >= LOOK_MS) {
      lookedMs = clock.monotonicMs();
      looking = look().finally(() => (looking = undefined));
    }
    await looking;
  };
  return {
    async authenticateToken(token) {
      await upToDate();
      for (const issuer of issuers) {
        const user = await issuer.authenticateToken(token);
        if (user !== undefined) return user;
      }
      return undefined;
    },
  };
}

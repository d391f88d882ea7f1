/**
 * Makes the signing of tokens repeatable. Signing takes real time on another thread and ends in any order. Here a timer of the
 * virtual clock delivers each result in the order of the requests, while a busy token holds time.
 */
import type { ServiceAccountTokens } from '../apiserver/authn/service-account-tokens.ts';
import type { Clock } from '../platform/clock.ts';

/** Tokens whose results are delivered in the order of the requests. */
export function createRepeatableTokens(tokens: ServiceAccountTokens, clock: Clock): ServiceAccountTokens {
  // One timer for all requests of an instant, which then continue together.
  let batch: Promise<void> | undefined;
  const inOrder = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    const release = clock.holdBusy(what);
    const result = work();
    result.then(release, release);
    batch ??= clock.sleep(0).then(() => void (batch = undefined));
    await batch;
    return result;
  };
  return {
    audiences: tokens.audiences,
    authenticateToken: (token) => inOrder('token authentication', () => tokens.authenticateToken(token)),
    issue: (input) => inOrder('token signing', () => tokens.issue(input)),
    issueLegacy: (account, secret) => inOrder('token signing', () => tokens.issueLegacy(account, secret)),
    review: (token, audiences) => inOrder('token review', () => tokens.review(token, audiences)),
    keySet: () => inOrder('token keys', () => tokens.keySet()),
  };
}

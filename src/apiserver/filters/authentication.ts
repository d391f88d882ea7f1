/** Tries the authenticators in order; nobody's recognition is 401. Upstream: endpoints/filters.WithAuthentication. */
import { StatusError, unauthorized } from '../../api/status-error.ts';
import type { ApiRequest, Principal } from '../../api/transport.ts';
import type { Authenticator } from '../authn/contract.ts';

/** Who asks. Answers at once when the authenticators do; throws or rejects with 401. */
export function authenticate(
  authenticators: readonly Authenticator[],
  request: ApiRequest,
): Principal | Promise<Principal> {
  for (let index = 0; index < authenticators.length; index++) {
    const found = authenticators[index]!.authenticate(request);
    if (found instanceof Promise) return authenticateLater(found, authenticators.slice(index + 1), request);
    if (found !== undefined) return found;
  }
  throw unauthorized();
}

async function authenticateLater(
  first: Promise<Principal | undefined>,
  rest: readonly Authenticator[],
  request: ApiRequest,
): Promise<Principal> {
  let found: Principal | undefined;
  try {
    found = await first;
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw unauthorized();
  }
  return found ?? authenticate(rest, request);
}

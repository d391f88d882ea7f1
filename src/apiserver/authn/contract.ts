/** Contract of authentication. Upstream: authenticator.Request, a union tried in order. */
import type { ApiRequest, Principal } from '../../api/transport.ts';

/** One way to authenticate a request. */
export interface Authenticator {
  /**
   * Undefined when the request has no credential of this kind. Rejects with a 401 StatusError when it has an invalid
   * one. May return without a promise.
   */
  authenticate(request: ApiRequest): Principal | undefined | Promise<Principal | undefined>;
}

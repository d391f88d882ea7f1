/** Contract of authentication. Upstream: authenticator.Request, a union tried in order. */
import type { ApiRequest, Principal } from '../../api/transport.ts';

/** One way to learn who asks. */
export interface Authenticator {
  /** Undefined: not my kind of credential. Rejects with 401 StatusError when it is and is wrong. May answer without a promise. */
  authenticate(request: ApiRequest): Principal | undefined | Promise<Principal | undefined>;
}

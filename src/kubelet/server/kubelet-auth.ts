/** Authentication and authorization of requests to the kubelet. Upstream: server.AuthInterface. */
import type { Principal } from '../../api/transport.ts';
import type { HttpRequest } from '../../platform/http.ts';

/** Authentication and authorization of the kubelet's own server. */
export interface KubeletAuth {
  /** Undefined: not authenticated (401). Rejects when the API server does not answer (500). */
  authenticate(
    request: Pick<HttpRequest, 'headers' | 'peerCertificate' | 'refusedCertificate'>,
  ): Promise<Principal | undefined>;
  /** Whether the user may use the verb on the node's sub-resource (`log`, `stats`, `metrics`, `proxy` …). */
  authorize(principal: Principal, verb: string, subresource: string): Promise<boolean>;
}

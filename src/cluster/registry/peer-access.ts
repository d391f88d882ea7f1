/** Lets other nodes of the cluster read this node's registry through the kubelet's server. They cannot push. */
import { nodeIdentity } from '../../component-helpers/user-names.ts';
import type { HttpHandler, HttpRequest } from '../../platform/http.ts';
import { emptyResponse } from './registry-error.ts';

/** The prefix of the registry's paths on the kubelet's server. */
export const PEER_PATH = '/keelson/registry';

const READABLE = /^\/v2\/.+\/(?:blobs|manifests)\/[^/]+$/;

/** Answers a request as if it were for this path of the registry. */
export type ReadRegistry = (request: HttpRequest, path: string) => ReturnType<HttpHandler>;

/** Serves the registry in front of the kubelet's handler. `isNode`: whether the cluster has a node of this name. */
export function withPeerReads(
  kubelet: HttpHandler,
  read: ReadRegistry,
  isNode: (nodeName: string) => boolean,
): HttpHandler {
  return (request) => {
    if (!request.path.startsWith(`${PEER_PATH}/`)) return kubelet(request);
    const path = request.path.slice(PEER_PATH.length);
    if (!isPeer(request, isNode)) return emptyResponse(403, { connection: 'close' });
    if (!['GET', 'HEAD'].includes(request.method))
      return emptyResponse(405, { connection: 'close', allow: 'GET, HEAD' });
    return READABLE.test(path) ? read(request, path) : emptyResponse(404);
  };
}

/** Whether the client certificate, signed by the cluster's authority, is that of a node. */
function isPeer({ peerCertificate }: HttpRequest, isNode: (nodeName: string) => boolean): boolean {
  if (peerCertificate === undefined || peerCertificate.isTrusted?.() === false) return false;
  const { commonName, organizations } = peerCertificate;
  const node = nodeIdentity({ name: commonName, groups: organizations });
  return node !== undefined && isNode(node);
}

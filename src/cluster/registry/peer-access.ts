/** Lets other nodes of the cluster read this node's registry, at the kubelet's server. Nothing can be pushed there. */
import type { HttpHandler, HttpRequest } from '../../platform/http.ts';
import { emptyResponse } from './registry-error.ts';

/** Stands before the paths of the registry. */
export const PEER_PATH = '/keelson/registry';

const NODE_USER = 'system:node:';
const READABLE = /^\/v2\/.+\/(?:blobs|manifests)\/[^/]+$/;

/** Answers a request as one for this path of the registry. */
export type ReadRegistry = (request: HttpRequest, path: string) => ReturnType<HttpHandler>;

/** The kubelet's handler with the registry in front of it. `isNode`: whether the cluster has a node of this name. */
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

/** A node of the cluster, by a client certificate of its authority. */
function isPeer({ peerCertificate }: HttpRequest, isNode: (nodeName: string) => boolean): boolean {
  if (peerCertificate === undefined || peerCertificate.isTrusted?.() === false) return false;
  const { commonName, organizations } = peerCertificate;
  return (
    organizations.includes('system:nodes') &&
    commonName.startsWith(NODE_USER) &&
    isNode(commonName.slice(NODE_USER.length))
  );
}

/**
 * Serves an OCI registry over HTTP: distribution spec v1.1 (pull, push, discovery, management) and Docker's catalog.
 * npm has registry clients but no server; Debian's docker-registry would be one more program to install. Requests
 * that come through a browser are refused, since everyone who reaches the registry may push.
 */
import { BodyBrokenOffError, type HttpHandler, type HttpRequest, type HttpResponse } from '../../platform/http.ts';
import type { Log } from '../../platform/log.ts';
import { answerBlob, answerUpload, type BlobDeps } from './blob-requests.ts';
import { answerCatalog, answerManifest, answerReferrers, answerTags } from './manifest-requests.ts';
import { parseTarget, type Target } from './oci-names.ts';
import type { ReadRegistry } from './peer-access.ts';
import type { PeerRegistries } from './peer-registries.ts';
import { answerShared, SHARED_PATH } from './shared-requests.ts';
import { hasErrorCode } from '../../base/errors.ts';
import { emptyResponse, errorResponse, RegistryError } from './registry-error.ts';

const VERSION_HEADER = { 'docker-distribution-api-version': 'registry/2.0' };
const METHODS: Readonly<Record<Target['kind'], readonly string[]>> = {
  base: ['GET', 'HEAD'],
  catalog: ['GET'],
  tags: ['GET'],
  referrers: ['GET'],
  blob: ['GET', 'HEAD', 'DELETE'],
  uploads: ['POST', 'GET', 'PATCH', 'PUT', 'DELETE'],
  manifest: ['GET', 'HEAD', 'PUT', 'DELETE'],
};

export interface RegistryHandlers {
  /** Serves programs of this machine. */
  readonly local: HttpHandler;
  /** Serves other nodes after authentication. */
  readonly read: ReadRegistry;
}

/** `peers`: the other nodes' registries, once they are available. */
export function createRegistryHandlers(
  deps: BlobDeps,
  log: Log,
  peers: () => PeerRegistries | undefined = () => undefined,
): RegistryHandlers {
  return {
    local: withErrorResponses(log, async (request) => {
      checkLocal(request);
      const shared = request.path.startsWith(`${SHARED_PATH}/`);
      return shared ? await answerShared(deps, peers(), request) : await routeRequest(deps, request, request.path);
    }),
    read: (request, path) => withErrorResponses(log, () => routeRequest(deps, request, path))(request),
  };
}

function withErrorResponses(log: Log, answerRequest: (request: HttpRequest) => Promise<HttpResponse>): HttpHandler {
  return async (request) => {
    try {
      return await answerRequest(request);
    } catch (error) {
      if (request.signal.aborted || error instanceof BodyBrokenOffError)
        return emptyResponse(400, { connection: 'close' });
      if (error instanceof RegistryError) return errorResponseOf(request, error);
      if (hasErrorCode(error, 'ENOSPC', 'EDQUOT'))
        return errorResponseOf(request, new RegistryError(507, 'DENIED', 'the disk of the registry is full'));
      log.unexpected('a request of the registry failed', error, { method: request.method, path: request.path });
      return emptyResponse(500, { connection: 'close' });
    }
  };
}

/** Closes the connection, since the rest of a refused request's body is not read. */
function errorResponseOf({ method }: HttpRequest, error: RegistryError): HttpResponse {
  const hasBody = !['GET', 'HEAD', 'DELETE'].includes(method);
  return errorResponse(hasBody ? error.closing() : error);
}

async function routeRequest(deps: BlobDeps, request: HttpRequest, path: string): Promise<HttpResponse> {
  const target = parseTarget(path);
  if (!METHODS[target.kind].includes(request.method))
    throw new RegistryError(405, 'UNSUPPORTED', 'the method is not supported here', {
      allow: METHODS[target.kind].join(', '),
    });
  switch (target.kind) {
    case 'base':
      return emptyResponse(200, VERSION_HEADER);
    case 'catalog':
      return await answerCatalog(deps, request);
    case 'tags':
      return await answerTags(deps, request, target.name);
    case 'referrers':
      return await answerReferrers(deps, request, target.name, target.reference);
    case 'blob':
      return await answerBlob(deps, request, target.name, target.reference);
    case 'manifest':
      return await answerManifest(deps, request, target.name, target.reference);
    case 'uploads':
      return await answerUpload(deps, request, target.name, target.id);
  }
}

/**
 * Refuses requests that a website makes through a browser: with an Origin, with Sec-Fetch-Site, or, when its own name
 * resolves to loopback (DNS rebinding), with that name as the Host.
 */
function checkLocal({ headers }: HttpRequest): void {
  const host = (headers['host'] ?? '').replace(/:\d+$/, '').toLowerCase();
  const isFetchedByPage = !['none', undefined].includes(headers['sec-fetch-site']);
  if (!['localhost', '127.0.0.1', '[::1]'].includes(host) || headers['origin'] !== undefined || isFetchedByPage)
    throw new RegistryError(403, 'DENIED', 'the registry is for programs of this machine, at localhost');
}

/** Answers containerd's requests to the proxy of mirrors: who has the key reads manifests and blobs under rewritten names. */
import { errorMessage } from '../../base/errors.ts';
import type { HttpHandler, HttpHeaders, HttpRequest, HttpResponse } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';
import { digestOf, isTag, parseTarget, repositoryName } from '../registry/oci-names.ts';
import { passAnswer } from '../registry/pass-answer.ts';
import { emptyResponse, errorResponse, RegistryError } from '../registry/registry-error.ts';
import type { Mirror } from './mirror.ts';
import { MirrorClient } from './mirror-client.ts';

export type MirrorHandlerDeps = Pick<Platform, 'clock' | 'crypto' | 'files' | 'log' | 'net'>;

/** Names the header with the key, in hosts.toml too, so that no URL has it: those are in messages of pulls. */
export const KEY_HEADER = 'keelson-mirror-key';
const PASSED_HEADERS = ['accept', 'range', 'user-agent'];
const MAX_QUERY = 512;

/** Mirrors are named by their number at the start of the path. */
export function createMirrorHandler(platform: MirrorHandlerDeps, mirrors: readonly Mirror[], key: string): HttpHandler {
  const { crypto } = platform;
  const log = platform.log.child('mirrors');
  const clients = mirrors.map((mirror) => ({ mirror, client: new MirrorClient(platform, mirror) }));
  const expected = Buffer.from(key);
  return async (request) => {
    const isAllowed = crypto.timingSafeEqual(expected, Buffer.from(request.headers[KEY_HEADER] ?? ''));
    if (!isAllowed) return emptyResponse(403, { connection: 'close' });
    try {
      if (request.method !== 'GET' && request.method !== 'HEAD')
        throw new RegistryError(405, 'UNSUPPORTED', 'only pulls are served here', { allow: 'GET, HEAD' }).closing();
      const [, index = '', path = ''] = /^\/(\d{1,6})(\/v2\/.+)$/.exec(request.path) ?? [];
      const entry = clients[Number(index)];
      if (index === '' || entry === undefined) throw new RegistryError(404, 'UNSUPPORTED', 'there is no such mirror');
      return await answerPull(entry.client, entry.mirror, request, path);
    } catch (error) {
      if (request.signal.aborted) return emptyResponse(502, { connection: 'close' });
      if (!(error instanceof RegistryError))
        log.warn('A mirror does not answer', { path: request.path, err: errorMessage(error) });
      return errorResponse(
        error instanceof RegistryError ? error : new RegistryError(502, 'UNSUPPORTED', errorMessage(error)),
      );
    }
  };
}

async function answerPull(
  client: MirrorClient,
  mirror: Mirror,
  request: HttpRequest,
  path: string,
): Promise<HttpResponse> {
  const target = parseTarget(path);
  if (target.kind !== 'blob' && target.kind !== 'manifest')
    throw new RegistryError(404, 'UNSUPPORTED', 'only manifests and blobs are served here');
  const { kind, reference } = target;
  if (kind === 'blob' || !isTag(reference)) digestOf(reference);
  const repository = repositoryName(mirror.rewrite(target.name));
  const authorization = request.headers['authorization'];
  const answer = await client.open({
    method: request.method === 'HEAD' ? 'HEAD' : 'GET',
    repository,
    path: `/${kind}s/${reference}${namespaceQuery(request.query)}`,
    headers: Object.fromEntries(
      PASSED_HEADERS.flatMap((name) => (request.headers[name] === undefined ? [] : [[name, request.headers[name]]])),
    ),
    auth: authorization?.startsWith('Basic ') === true ? { auth: authorization.slice('Basic '.length) } : undefined,
    signal: request.signal,
  });
  if (answer.status !== 401) return passAnswer(answer, request);
  // containerd then repeats the request with the pod's pull secret, if it has one.
  const challenge: HttpHeaders = authorization === undefined ? { 'www-authenticate': 'Basic realm="mirror"' } : {};
  throw new RegistryError(401, 'DENIED', `the mirror refuses the pull of ${repository}`, challenge);
}

/** The registry that containerd pulls from, which it names for mirrors of several. */
function namespaceQuery(query: string): string {
  const namespace = query.length > MAX_QUERY ? null : new URLSearchParams(query).get('ns');
  return namespace === null ? '' : `?${new URLSearchParams({ ns: namespace }).toString()}`;
}

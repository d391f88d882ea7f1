/**
 * Serves the content of this node's registry and of the other nodes' to the node's containerd, below SHARED_PATH.
 * Clients that push use the specification's paths, where a blob of another node must not appear as present.
 */
import { onAbort } from '../../base/abort.ts';
import type { HttpRequest, HttpResponse } from '../../platform/http.ts';
import type { HttpAnswer } from '../../platform/net.ts';
import { answerBlob, type BlobDeps } from './blob-requests.ts';
import { answerManifest } from './manifest-requests.ts';
import { digestOf, isTag, parseTarget } from './oci-names.ts';
import type { PeerRegistries } from './peer-registries.ts';
import { RegistryError } from './registry-error.ts';

/** The prefix before `/v2`. */
export const SHARED_PATH = '/shared';

const PASSED_HEADERS = [
  'content-type',
  'content-length',
  'content-range',
  'docker-content-digest',
  'accept-ranges',
  'etag',
];

/** `peers`: undefined until the node has joined. */
export async function answerShared(
  deps: BlobDeps,
  peers: PeerRegistries | undefined,
  request: HttpRequest,
): Promise<HttpResponse> {
  const target = parseTarget(request.path.slice(SHARED_PATH.length));
  if (target.kind === 'base') return { kind: 'bytes', status: 200, headers: { 'content-length': '0' }, chunks: [] };
  if (!['GET', 'HEAD'].includes(request.method) || (target.kind !== 'blob' && target.kind !== 'manifest'))
    throw new RegistryError(405, 'UNSUPPORTED', 'only pulls are served here', { allow: 'GET, HEAD' });
  const { kind, name } = target;
  const reference =
    kind === 'manifest' ? await newest(deps, peers, name, target.reference) : digestOf(target.reference).text;
  try {
    if (kind === 'blob') return await answerBlob(deps, request, name, reference);
    return await answerManifest(deps, request, name, reference);
  } catch (error) {
    if (!(error instanceof RegistryError) || error.status !== 404) throw error;
    const range = request.headers['range'];
    const path = `/v2/${name}/${kind}s/${reference}`;
    const method = request.method === 'HEAD' ? 'HEAD' : 'GET';
    const answer = await peers?.open(path, { method, headers: range === undefined ? {} : { range } });
    if (answer === undefined) throw error;
    // The client may have disconnected by now.
    if (request.signal.aborted) answer.cancel();
    else onAbort(request.signal, () => answer.cancel());
    return passedOn(answer, request);
  }
}

/** The digest of the tag's latest push, here or on another node. */
async function newest(
  { repositories }: BlobDeps,
  peers: PeerRegistries | undefined,
  name: string,
  reference: string,
): Promise<string> {
  if (!isTag(reference)) return digestOf(reference).text;
  const [own, other] = await Promise.all([
    repositories.taggedAt(name, reference),
    peers?.latest(`/v2/${name}/manifests/${reference}`),
  ]);
  const isOther = other !== undefined && (own === undefined || other.taggedAtMs > own.taggedAtMs);
  return (isOther ? other : own)?.digest.text ?? reference;
}

function passedOn(answer: HttpAnswer, { method }: HttpRequest): HttpResponse {
  const { status, body } = answer;
  const headers = Object.fromEntries(
    PASSED_HEADERS.flatMap((name) => (answer.headers[name] === undefined ? [] : [[name, answer.headers[name]]])),
  );
  if (method === 'HEAD') {
    answer.cancel();
    return { kind: 'bytes', status, headers, chunks: [] };
  }
  return {
    kind: 'stream',
    status,
    headers,
    async run(sink) {
      try {
        for await (const piece of body) await sink.write(piece);
        await sink.end();
      } finally {
        answer.cancel();
      }
    },
  };
}

/**
 * Serves the content of this node's registry and of the other nodes' to the node's containerd, below SHARED_PATH.
 * Clients that push use the specification's paths, where a blob of another node must not appear as present.
 */
import type { HttpRequest, HttpResponse } from '../../platform/http.ts';
import { answerBlob, type BlobDeps } from './blob-requests.ts';
import { answerManifest } from './manifest-requests.ts';
import { digestOf, isTag, parseTarget } from './oci-names.ts';
import { passAnswer } from './pass-answer.ts';
import type { PeerRegistries } from './peer-registries.ts';
import { RegistryError } from './registry-error.ts';

/** The prefix before `/v2`. */
export const SHARED_PATH = '/shared';

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
    return passAnswer(answer, request);
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

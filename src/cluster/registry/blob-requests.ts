/** Handles requests for blobs and uploads. */
import type { HttpRequest, HttpResponse } from '../../platform/http.ts';
import type { BlobStore } from './blob-store.ts';
import { digestOf, repositoryName, tryDigest } from './oci-names.ts';
import { emptyResponse, RegistryError } from './registry-error.ts';
import type { Repositories } from './repositories.ts';
import { uploadHeaders, type Uploads } from './uploads.ts';

export interface BlobDeps {
  readonly blobs: BlobStore;
  readonly repositories: Repositories;
  readonly uploads: Uploads;
}

export async function answerBlob(
  { blobs, repositories }: BlobDeps,
  { method, headers }: HttpRequest,
  name: string,
  reference: string,
): Promise<HttpResponse> {
  const digest = digestOf(reference);
  const size = await repositories.blobSize(name, digest);
  if (size === undefined) throw new RegistryError(404, 'BLOB_UNKNOWN', 'the repository has no such blob');
  if (method === 'DELETE') {
    await repositories.unlinkBlob(name, digest);
    return emptyResponse(202);
  }
  const all = {
    'content-type': 'application/octet-stream',
    'docker-content-digest': digest.text,
    'accept-ranges': 'bytes',
    etag: `"${digest.text}"`,
  };
  const range = method === 'HEAD' ? undefined : readRange(headers['range'], size);
  const { start, end } = range ?? { start: 0, end: size };
  const sent = { ...all, 'content-length': String(end - start) };
  if (method === 'HEAD') return { kind: 'bytes', status: 200, headers: sent, chunks: [] };
  return {
    kind: 'stream',
    status: range === undefined ? 200 : 206,
    headers: range === undefined ? sent : { ...sent, 'content-range': `bytes ${start}-${end - 1}/${size}` },
    async run(sink) {
      for await (const piece of blobs.pieces(digest, start, end)) await sink.write(piece);
      await sink.end();
    },
  };
}

/**
 * Undefined means the whole blob, also for other units and lists of ranges, which are not supported. `end` is
 * exclusive.
 */
function readRange(
  text: string | undefined,
  size: number,
): { readonly start: number; readonly end: number } | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(text ?? '');
  if (match === null || (match[1] === '' && match[2] === '')) return undefined;
  const [first, last] = [match[1]!, match[2]!];
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size : Math.min(size, Number(last) + 1);
  if (start >= end)
    throw new RegistryError(416, 'SIZE_INVALID', `the blob has ${size} bytes`, { 'content-range': `bytes */${size}` });
  return { start, end };
}

export async function answerUpload(
  deps: BlobDeps,
  request: HttpRequest,
  name: string,
  id: string,
): Promise<HttpResponse> {
  const { uploads } = deps;
  const query = new URLSearchParams(request.query);
  if (id === '') {
    if (request.method === 'POST') return await startUpload(deps, request, name, query);
    throw notSupported();
  }
  switch (request.method) {
    case 'GET':
      return emptyResponse(204, uploadHeaders(name, id, uploads.size(name, id)));
    case 'PATCH': {
      const size = await uploads.append(name, id, request.bodyStream(), rangeStart(request));
      return emptyResponse(202, uploadHeaders(name, id, size));
    }
    case 'PUT': {
      const digest = digestOf(query.get('digest') ?? '');
      const start = rangeStart(request);
      if (start !== undefined && start !== uploads.size(name, id)) await uploads.append(name, id, nothing(), start);
      await uploads.finish(name, id, digest, request.bodyStream());
      return await createdResponse(deps, name, digest.text);
    }
    case 'DELETE':
      await uploads.cancel(name, id);
      return emptyResponse(204);
    default:
      throw notSupported();
  }
}

/** Starts an upload, accepts a whole blob in one request, or mounts a blob of another repository. */
async function startUpload(
  deps: BlobDeps,
  request: HttpRequest,
  name: string,
  query: URLSearchParams,
): Promise<HttpResponse> {
  const { uploads, repositories } = deps;
  const mount = query.get('mount');
  const from = query.get('from');
  if (mount !== null && from !== null) {
    const digest = digestOf(mount);
    if ((await repositories.blobSize(repositoryName(from), digest)) !== undefined)
      return await createdResponse(deps, name, digest.text);
  }
  const whole = query.get('digest');
  const wanted = whole === null ? undefined : digestOf(whole);
  const named = query.get('digest-algorithm') ?? wanted?.algorithm ?? 'sha256';
  if (named !== 'sha256' && named !== 'sha512')
    throw new RegistryError(400, 'DIGEST_INVALID', 'the digest algorithm must be sha256 or sha512');
  const id = await uploads.begin(name, named);
  if (wanted === undefined) return emptyResponse(202, uploadHeaders(name, id, 0));
  try {
    await uploads.finish(name, id, wanted, request.bodyStream());
  } catch (error) {
    // The client does not know the upload's address and cannot continue it.
    await uploads.cancel(name, id).catch(() => undefined);
    throw error;
  }
  return await createdResponse(deps, name, wanted.text);
}

async function createdResponse({ repositories }: BlobDeps, name: string, digest: string): Promise<HttpResponse> {
  const known = tryDigest(digest)!;
  await repositories.linkBlob(name, known);
  return emptyResponse(201, { location: `/v2/${name}/blobs/${digest}`, 'docker-content-digest': digest });
}

/** The offset of a chunk; undefined: the end of what was received. @throws RegistryError */
function rangeStart({ headers }: HttpRequest): number | undefined {
  const range = headers['content-range'];
  if (range === undefined) return undefined;
  const match = /^(?:bytes )?(\d{1,15})-(\d{1,15})$/.exec(range);
  if (match === null) throw new RegistryError(400, 'BLOB_UPLOAD_INVALID', 'Content-Range must have the form 0-99');
  const [start, end] = [Number(match[1]), Number(match[2])];
  const length = headers['content-length'];
  if (end < start || (length !== undefined && Number(length) !== end - start + 1))
    throw new RegistryError(400, 'SIZE_INVALID', 'Content-Range and Content-Length differ');
  return start;
}

async function* nothing(): AsyncGenerator<Uint8Array, void, void> {
  // without a chunk
}

function notSupported(): RegistryError {
  return new RegistryError(405, 'UNSUPPORTED', 'the method is not supported here');
}

/** Handles requests for manifests, tags and referrers. */
import { BodyTooLargeError, type HttpHeaders, type HttpRequest, type HttpResponse } from '../../platform/http.ts';
import type { BlobDeps } from './blob-requests.ts';
import { contentDigest } from './blob-store.ts';
import { parseManifest, type Manifest } from './manifest.ts';
import { digestOf, isTag, type Digest } from './oci-names.ts';
import { emptyResponse, jsonResponse, RegistryError } from './registry-error.ts';

/** The specification recommends that registries accept at least this size. */
const MAX_MANIFEST_BYTES = 4 * 1024 * 1024;
const MAX_TAGS = 1_000;
/** The size of a page of referrers: clients accept indexes of up to 4 MiB. */
const MAX_PAGE_BYTES = 1024 * 1024;
/** When the tag was pushed, in milliseconds since the epoch: among nodes the latest push counts. */
export const TAGGED_AT_HEADER = 'keelson-tagged-at';
const INDEX = 'application/vnd.oci.image.index.v1+json';

export async function answerManifest(
  deps: BlobDeps,
  request: HttpRequest,
  name: string,
  reference: string,
): Promise<HttpResponse> {
  const { repositories } = deps;
  if (request.method === 'PUT') return await putManifest(deps, request, name, reference);
  if (request.method === 'DELETE') return await repositories.exclusively(() => remove(deps, name, reference));
  const tagged = isTag(reference) ? await repositories.taggedAt(name, reference) : undefined;
  const digest = tagged?.digest ?? (await resolve(deps, name, reference));
  const record = digest && (await repositories.manifest(name, digest));
  if (digest === undefined || record === undefined) throw unknownManifest();
  const headers = {
    'content-type': record.mediaType,
    'content-length': String(record.size),
    'docker-content-digest': digest.text,
    etag: `"${digest.text}"`,
    ...(tagged && { [TAGGED_AT_HEADER]: String(tagged.taggedAtMs) }),
  };
  const chunks = request.method === 'HEAD' ? [] : [await deps.blobs.read(digest)];
  return { kind: 'bytes', status: 200, headers, chunks };
}

async function resolve({ repositories }: BlobDeps, name: string, reference: string): Promise<Digest | undefined> {
  if (reference.includes(':')) return digestOf(reference);
  return isTag(reference) ? await repositories.tagged(name, reference) : undefined;
}

async function putManifest(
  deps: BlobDeps,
  request: HttpRequest,
  name: string,
  reference: string,
): Promise<HttpResponse> {
  const named = reference.includes(':') ? digestOf(reference) : undefined;
  if (named === undefined && !isTag(reference)) throw new RegistryError(400, 'MANIFEST_INVALID', 'the tag is invalid');
  const tags = named === undefined ? [reference] : new URLSearchParams(request.query).getAll('tag');
  if (tags.length > MAX_TAGS || !tags.every(isTag))
    throw new RegistryError(400, 'MANIFEST_INVALID', 'a tag is invalid, or there are too many');
  const content = await readManifestBody(request);
  const digest = contentDigest(content, named?.algorithm);
  if (named !== undefined && named.text !== digest.text)
    throw new RegistryError(400, 'DIGEST_INVALID', 'the content does not have this digest');
  const manifest = parseManifest(content, request.headers['content-type'] ?? '');
  await deps.blobs.checkRoom();
  await deps.repositories.exclusively(async () => {
    await checkReferences(deps, name, manifest);
    await deps.repositories.putManifest(name, digest, content, manifest);
    for (const tag of tags) await deps.repositories.tag(name, tag, digest);
  });
  const headers: Record<string, string> = {
    location: `/v2/${name}/manifests/${digest.text}`,
    'docker-content-digest': digest.text,
  };
  if (manifest.subject !== undefined) headers['oci-subject'] = manifest.subject.text;
  if (named !== undefined && tags.length > 0) headers['oci-tag'] = tags.join(', ');
  return emptyResponse(201, headers);
}

async function readManifestBody(request: HttpRequest): Promise<Uint8Array> {
  try {
    return await request.readBody(MAX_MANIFEST_BYTES);
  } catch (error) {
    if (!(error instanceof BodyTooLargeError)) throw error;
    throw new RegistryError(413, 'SIZE_INVALID', `a manifest has at most ${MAX_MANIFEST_BYTES} bytes`);
  }
}

/** A manifest may precede its subject; everything else it references must exist. */
async function checkReferences({ repositories }: BlobDeps, name: string, manifest: Manifest): Promise<void> {
  for (const digest of distinct(manifest.blobs))
    if ((await repositories.blobSize(name, digest)) === undefined)
      throw new RegistryError(404, 'MANIFEST_BLOB_UNKNOWN', `the repository has no blob ${digest.text}`);
  for (const digest of distinct(manifest.manifests))
    if ((await repositories.manifest(name, digest)) === undefined)
      throw new RegistryError(404, 'MANIFEST_BLOB_UNKNOWN', `the repository has no manifest ${digest.text}`);
}

/** Each look-up reads the disk while other pushes wait: a manifest may name one blob thousands of times. */
function distinct(digests: readonly Digest[]): Iterable<Digest> {
  return new Map(digests.map((digest) => [digest.text, digest])).values();
}

async function remove(deps: BlobDeps, name: string, reference: string): Promise<HttpResponse> {
  const { repositories } = deps;
  const digest = await resolve(deps, name, reference);
  if (digest === undefined) throw unknownManifest();
  if (!reference.includes(':')) await repositories.removeTag(name, reference);
  else {
    const record = await repositories.manifest(name, digest);
    if (record === undefined) throw unknownManifest();
    await repositories.removeManifest(name, digest, record);
  }
  return emptyResponse(202);
}

export async function answerTags(
  { repositories }: BlobDeps,
  { query }: HttpRequest,
  name: string,
): Promise<HttpResponse> {
  if (!(await repositories.exists(name))) throw unknownName();
  const { page, headers } = pageOf(await repositories.tags(name), query, `/v2/${name}/tags/list`);
  return jsonResponse(200, { name, tags: page }, headers);
}

/** Docker's catalog of all repositories. */
export async function answerCatalog({ repositories }: BlobDeps, { query }: HttpRequest): Promise<HttpResponse> {
  const { page, headers } = pageOf(await repositories.names(), query, '/v2/_catalog');
  return jsonResponse(200, { repositories: page }, headers);
}

function pageOf(
  all: readonly string[],
  query: string,
  path: string,
): { readonly page: readonly string[]; readonly headers: HttpHeaders } {
  const asked = new URLSearchParams(query);
  const last = asked.get('last');
  const n = asked.get('n') ?? String(MAX_TAGS);
  if (!/^\d{1,9}$/.test(n)) throw new RegistryError(400, 'UNSUPPORTED', 'n is not a number');
  const rest = last === null ? all : all.filter((each) => each > last);
  const page = rest.slice(0, Math.min(Number(n), MAX_TAGS));
  if (page.length === 0 || page.length === rest.length) return { page, headers: {} };
  const next = new URLSearchParams({ n: String(page.length), last: page.at(-1)! });
  return { page, headers: { link: `<${path}?${next}>; rel="next"` } };
}

export async function answerReferrers(
  { repositories }: BlobDeps,
  { query }: HttpRequest,
  name: string,
  reference: string,
): Promise<HttpResponse> {
  const subject = digestOf(reference);
  const params = new URLSearchParams(query);
  const [wanted, last] = [params.get('artifactType'), params.get('last') ?? ''];
  const manifests: object[] = [];
  const headers: Record<string, string> = { 'content-type': INDEX };
  if (wanted !== null) headers['oci-filters-applied'] = 'artifactType';
  let pageBytes = 0;
  for (const digest of await repositories.referrers(name, subject)) {
    if (digest.text <= last) continue;
    const record = await repositories.manifest(name, digest);
    if (record === undefined || (wanted !== null && record.artifactType !== wanted)) continue;
    const { mediaType, size, artifactType, annotations } = record;
    const descriptor = { mediaType, digest: digest.text, size, artifactType, annotations };
    pageBytes += JSON.stringify(descriptor).length;
    if (manifests.length > 0 && pageBytes > MAX_PAGE_BYTES) {
      params.set('last', (manifests.at(-1) as { digest: string }).digest);
      headers['link'] = `</v2/${name}/referrers/${subject.text}?${params}>; rel="next"`;
      break;
    }
    manifests.push(descriptor);
  }
  return jsonResponse(200, { schemaVersion: 2, mediaType: INDEX, manifests }, headers);
}

function unknownManifest(): RegistryError {
  return new RegistryError(404, 'MANIFEST_UNKNOWN', 'the repository has no such manifest');
}

function unknownName(): RegistryError {
  return new RegistryError(404, 'NAME_UNKNOWN', 'there is no such repository');
}

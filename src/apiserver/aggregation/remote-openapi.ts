/**
 * What another server says of its API in OpenAPI, to be told together with ours. Asked for at each look at the server; one
 * that gives its documents an ETag sends them again only when they changed. Upstream: kube-aggregator controllers/openapi.
 */
import type { JsonObject } from '../../api/codec/own-property.ts';
import { askRemote, type AvailabilityDeps } from './availability.ts';
import type { Fetched, RemoteOpenApi, RemoteService } from './remote-service.ts';

/** Asks for them; what cannot be had now stays as it was known. Never rejects. */
export async function fetchOpenApi(deps: AvailabilityDeps, remote: RemoteService): Promise<RemoteOpenApi> {
  const { v2, v3 } = remote.openApi;
  const path = `/apis/${remote.group}/${remote.version}`;
  const [nextV2, nextV3] = await Promise.all([
    fetchOne(deps, { remote, path: '/openapi/v2', known: v2, marks: 'swagger' }),
    fetchOne(deps, { remote, path: `/openapi/v3${path}`, known: v3, marks: 'openapi' }),
  ]);
  return { ...(nextV2 && { v2: nextV2 }), ...(nextV3 && { v3: nextV3 }) };
}

interface Wanted<T> {
  readonly remote: RemoteService;
  readonly path: string;
  readonly known: Fetched<T> | undefined;
  /** The field by which the document is known to be one. */
  readonly marks: string;
}

async function fetchOne<T extends JsonObject>(
  deps: AvailabilityDeps,
  { remote, path, known, marks }: Wanted<T>,
): Promise<Fetched<T> | undefined> {
  try {
    const headers = { accept: 'application/json', ...(known?.etag && { 'if-none-match': known.etag }) };
    const answer = await askRemote(deps, remote, { path, headers });
    if (answer.status === 304) return known;
    if (answer.status === 404 || answer.status === 406) return undefined;
    const document: unknown = answer.status === 200 ? JSON.parse(answer.text) : undefined;
    if (typeof document !== 'object' || document === null || !(marks in document)) return known;
    return { etag: answer.etag, document: document as T };
  } catch {
    return known; // Whether the server can be reached is for the look at it to say.
  }
}

/**
 * OpenAPI documents of aggregated servers, merged into those served here. Fetched at each check of the server; with
 * an ETag only changed documents are sent again. Upstream: kube-aggregator controllers/openapi.
 */
import { stepByStep, type Steps } from '../../base/steps.ts';
import { fingerprintSteps } from '../../api/openapi/fingerprint.ts';
import { foreignDocument, foreignEntries, MAX_DOCUMENT_BYTES } from '../../api/openapi/foreign-document.ts';
import { requestRemote, type AvailabilityDeps } from './availability.ts';
import type { RemoteDocument, RemoteOpenApi, RemoteService } from './remote-service.ts';

/** Fetches the documents; when one cannot be fetched, its last version is kept. Never rejects. */
export async function fetchOpenApi(deps: AvailabilityDeps, remote: RemoteService): Promise<RemoteOpenApi> {
  const { v2, v3 } = remote.openApi;
  const path = `/apis/${remote.group}/${remote.version}`;
  const [nextV2, nextV3] = await Promise.all([
    fetchOne(deps, { remote, path: '/openapi/v2', known: v2, check: checkV2 }),
    fetchOne(deps, { remote, path: `/openapi/v3${path}`, known: v3, check: checkV3 }),
  ]);
  return { v2: nextV2, v3: nextV3 };
}

interface DocumentRequest {
  readonly remote: RemoteService;
  readonly path: string;
  readonly known: RemoteDocument | undefined;
  /** Throws for an invalid document. */
  readonly check: (text: string) => Steps<void>;
}

async function fetchOne(
  deps: AvailabilityDeps,
  { remote, path, known, check }: DocumentRequest,
): Promise<RemoteDocument | undefined> {
  try {
    const headers = { accept: 'application/json', ...(known?.etag && { 'if-none-match': known.etag }) };
    const answer = await requestRemote(deps, remote, { path, headers, maxBytes: MAX_DOCUMENT_BYTES });
    if (answer.status === 404 || answer.status === 406) return undefined;
    if (answer.status !== 200 || answer.text === known?.text) return known;
    const { etag, text } = answer;
    const hash = await stepByStep(hashOf(text, check), () => deps.clock.yield());
    return { etag, text, hash };
  } catch {
    return known; // the availability check reports unreachable servers
  }
}

function* hashOf(text: string, check: DocumentRequest['check']): Steps<string> {
  yield* check(text);
  return yield* fingerprintSteps(text);
}

function* checkV2(text: string): Steps<void> {
  const document = yield* foreignDocument(text);
  if (!('swagger' in document)) throw new Error('no OpenAPI v2');
  yield* foreignEntries(document, 'definitions');
  yield* foreignEntries(document, 'paths');
}

function* checkV3(text: string): Steps<void> {
  const document = yield* foreignDocument(text);
  if (!('openapi' in document)) throw new Error('no OpenAPI v3');
}

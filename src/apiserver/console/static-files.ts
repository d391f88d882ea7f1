/** The console's files: precompressed, with entity tags; those with a hash in their name are kept by browsers for ever. */
import { noSuchPath, serviceUnavailable } from '../../api/status-error.ts';
import type { ApiHeaders, ApiRequest, ApiResponse } from '../../api/transport.ts';
import type { ConsoleFile, ConsoleFiles } from './contract.ts';
import { securityHeaders } from './headers.ts';

const PAGE = 'index.html';
const FOREVER = 'public, max-age=31536000, immutable';

/** Serves a file. Rejects with 404, and with 503 where the console is not built. */
export async function serveFile(files: ConsoleFiles, request: ApiRequest): Promise<ApiResponse> {
  if (request.path === '/console')
    return { kind: 'bytes', status: 308, headers: { ...securityHeaders, location: '/console/' }, chunks: [] };
  const index = await files.index();
  if (index === undefined)
    throw serviceUnavailable(
      'the console is not built: run "npm run build" in the checkout, then load this page again',
    );
  const name = request.path.slice('/console/'.length) || PAGE;
  const file = index.get(name);
  if (file === undefined) throw noSuchPath();
  const headers: ApiHeaders = {
    ...securityHeaders,
    'cache-control': file.hashed ? FOREVER : 'no-cache',
    etag: file.etag,
    vary: 'Accept-Encoding',
  };
  if (request.headers['if-none-match'] === file.etag) return { kind: 'bytes', status: 304, headers, chunks: [] };
  const encoding = encodingFor(request, file);
  const bytes = await files.read(name, encoding);
  return {
    kind: 'bytes',
    status: 200,
    headers: { ...headers, 'content-type': file.type, 'content-encoding': encoding ?? 'identity' },
    chunks: [bytes],
  };
}

function encodingFor({ headers }: ApiRequest, { encodings }: ConsoleFile): 'br' | 'gzip' | undefined {
  const accepted = (headers['accept-encoding'] ?? '').split(',').map((one) => one.trim());
  return encodings.find((encoding) => accepted.some((one) => one === encoding || acceptsWeighted(one, encoding)));
}

function acceptsWeighted(one: string, encoding: string): boolean {
  const [name = '', weight = ''] = one.split(';').map((part) => part.trim());
  return name === encoding && !/^q=0(\.0*)?$/.test(weight);
}

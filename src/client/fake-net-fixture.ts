/** A Net whose HTTP calls reach an API handler as bytes, in awkward chunks as a network delivers them. */
import { onAbort } from '../base/abort.ts';
import type { ApiHandler, ApiResponse } from '../api/transport.ts';
import type { HttpAnswer, HttpCall, Net } from '../platform/net.ts';

/** Makes the net. Watch events are cut into chunks of `chunkBytes`. */
export function createFakeNet(
  handler: ApiHandler,
  chunkBytes = 50,
): Pick<Net, 'http'> & { readonly calls: HttpCall[] } {
  const calls: HttpCall[] = [];
  return {
    calls,
    async http(call) {
      calls.push(call);
      const url = new URL(call.url);
      const stop = new AbortController();
      onAbort(call.signal, () => stop.abort(call.signal?.reason));
      const bytes = await wholeBody(call.body);
      const response = await handler({
        method: call.method,
        path: url.pathname,
        query: url.search.slice(1),
        headers: Object.fromEntries(Object.entries(call.headers ?? {}).map(([name, value]) => [name, String(value)])),
        remoteAddress: '10.0.0.9',
        wantsObjects: false,
        wantsUpgrade: false,
        body:
          bytes === undefined
            ? { kind: 'none' }
            : {
                kind: 'bytes',
                read: () => Promise.resolve(bytes),
                async *stream() {
                  yield bytes;
                },
              },
        signal: stop.signal,
      });
      return toAnswer(response, () => stop.abort(new Error('cancelled')), chunkBytes);
    },
  };
}

async function wholeBody(body: HttpCall['body']): Promise<Uint8Array | undefined> {
  if (body === undefined || body instanceof Uint8Array) return body;
  if (typeof body === 'string') return Buffer.from(body);
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function toAnswer(response: ApiResponse, cancel: () => void, chunkBytes: number): HttpAnswer {
  if (response.kind === 'stream' || response.kind === 'upgrade') throw new Error(`no ${response.kind} in this net`);
  async function* body(): AsyncGenerator<Uint8Array> {
    if (response.kind === 'object') yield Buffer.from(JSON.stringify(response.object));
    else if (response.kind === 'bytes') yield* response.chunks;
    else if (response.kind === 'watch') {
      for await (const batch of response.events) {
        const text = Buffer.from(batch.map((event) => `${JSON.stringify(event)}\n`).join(''));
        for (let at = 0; at < text.length; at += chunkBytes) yield text.subarray(at, at + chunkBytes);
      }
    }
  }
  const headers = Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
  return { status: response.status, headers, body: body(), cancel };
}

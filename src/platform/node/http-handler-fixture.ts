/** A handler for tests of HTTP servers that echoes, streams, hangs, throws and upgrades, by the path. */
import type { HttpHandler, HttpRequest, HttpResponse } from '../http.ts';
import type { HttpAnswer } from '../net.ts';

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** The body of a response as text. */
export async function readAll(answer: HttpAnswer): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** The observations of the handler: signals of requests that hang, upgrades that were not accepted. */
export const seen = { signals: [] as AbortSignal[], disposed: 0 };

/** Echoes the request; /stream streams, /upgrade switches, /limit reads at most 10 bytes. */
export const handler: HttpHandler = (request) => {
  if (request.path === '/stream') return streamResponse(request);
  if (request.path === '/upgrade') return upgradeResponse();
  if (request.path === '/bytes') return bytesResponse(request);
  if (request.path === '/hang') {
    seen.signals.push(request.signal);
    return new Promise(() => undefined);
  }
  if (request.path === '/throw') throw new Error('broken handler');
  return echo(request);
};

async function echo(request: HttpRequest): Promise<HttpResponse> {
  const limit = request.path === '/limit' ? 10 : 100_000;
  try {
    const body = Buffer.from(await request.readBody(limit)).toString();
    const { method, path, query, peerCertificate, wantsUpgrade } = request;
    const asked = {
      method,
      path,
      query,
      body,
      peer: peerCertificate?.commonName,
      orgs: peerCertificate?.organizations,
      uids: peerCertificate?.uids,
      wantsUpgrade,
      ...(request.headers['x-lines'] === undefined ? {} : { lines: request.headerLines('x-lines') }),
    };
    return {
      kind: 'bytes',
      status: 200,
      headers: { 'content-type': 'application/json', 'x-many': ['a', 'b'] },
      chunks: [json(asked)],
    };
  } catch (error) {
    return { kind: 'bytes', status: 413, headers: {}, chunks: [Buffer.from((error as Error).message)] };
  }
}

/** All byte values, in the requested number of pieces. */
function bytesResponse({ query }: HttpRequest): HttpResponse {
  const [pieces, times] = query.split(',').map(Number) as [number, number];
  const all = Buffer.from(Array.from({ length: 256 * times }, (_, index) => index % 256));
  const size = Math.ceil(all.length / pieces);
  const chunks = Array.from({ length: pieces }, (_, index) => all.subarray(index * size, (index + 1) * size));
  return { kind: 'bytes', status: 200, headers: {}, chunks };
}

function streamResponse(request: HttpRequest): HttpResponse {
  return {
    kind: 'stream',
    status: 200,
    headers: { 'content-type': 'text/plain' },
    async run(sink) {
      if (request.query === 'fail') {
        await sink.write('partial');
        throw new Error('cut');
      }
      for (let line = 0; line < 1000; line++) {
        await sink.write(`line ${line}\n`);
        // Each becomes a chunk of its own then.
        if (request.query === 'turns') await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

function upgradeResponse(): HttpResponse {
  return {
    kind: 'upgrade',
    dispose: () => void seen.disposed++,
    async accept(socket) {
      await socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n');
      for await (const chunk of socket.incoming) await socket.write(chunk);
      await socket.end();
    },
  };
}

/** Bodies of unknown length that wait for a slot once they turn out large, over HTTP/1.1 and HTTP/2. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as http from 'node:http';
import * as http2 from 'node:http2';
import { describe, test } from 'node:test';
import type { HttpHandler, HttpServer } from '../http.ts';
import { createMemoryLog } from '../sim/log.ts';
import { createTestAuthority } from './certificates-fixture.ts';
import { createListenHttp } from './http-server.ts';

const FREE_BYTES = 64 * 1024;
const LIMIT_BYTES = 3 * 1024 * 1024;

/** Reads bodies behind one gate, which the test opens; `/other` has none. */
function createGated() {
  const asked = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let times = 0;
  let hasRead = false;
  const handler: HttpHandler = async (request) => {
    if (request.path === '/other') return { kind: 'bytes', status: 200, headers: {}, chunks: [] };
    const pass = (): Promise<void> => {
      times++;
      asked.resolve();
      return gate.promise;
    };
    try {
      const body = await request.readBody(LIMIT_BYTES, { freeBytes: FREE_BYTES, pass });
      hasRead = true;
      return { kind: 'bytes', status: 200, headers: {}, chunks: [Buffer.from(String(body.length))] };
    } catch (error) {
      return { kind: 'bytes', status: 429, headers: {}, chunks: [Buffer.from((error as Error).message)] };
    }
  };
  return { handler, asked: asked.promise, gate, times: () => times, hasRead: () => hasRead };
}

interface Client {
  /** Sends a body without a length. Resolves to the response's status and text. */
  post(bytes: number): Promise<string>;
  get(): Promise<unknown>;
  close(): void;
}

const textOf = async (answer: AsyncIterable<unknown>): Promise<string> => {
  let text = '';
  for await (const chunk of answer) text += String(chunk);
  return text;
};

function http1Client({ port }: HttpServer): Client {
  const agent = new http.Agent({ keepAlive: true });
  const options = { host: '127.0.0.1', port, agent };
  return {
    async post(bytes) {
      const request = http.request({ ...options, method: 'POST' });
      request.on('error', () => undefined);
      request.flushHeaders();
      const answered = once(request, 'response');
      request.end(Buffer.alloc(bytes));
      const [answer] = (await answered) as [http.IncomingMessage];
      return `${answer.statusCode} ${await textOf(answer)}`;
    },
    async get() {
      const [answer] = (await once(http.get({ ...options, path: '/other' }), 'response')) as [http.IncomingMessage];
      return textOf(answer);
    },
    close: () => agent.destroy(),
  };
}

function http2Client({ port }: HttpServer, ca: string): Client {
  const session = http2.connect(`https://127.0.0.1:${port}`, { ca });
  const open = async (headers: http2.OutgoingHttpHeaders, body: Buffer | undefined): Promise<string> => {
    const stream = session.request(headers, { endStream: body === undefined });
    stream.on('error', () => undefined);
    if (body !== undefined) stream.end(body);
    const [answer] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders];
    return `${answer[':status']} ${await textOf(stream)}`;
  };
  return {
    post: (bytes) => open({ ':method': 'POST', ':path': '/' }, Buffer.alloc(bytes)),
    get: () => open({ ':path': '/other' }, undefined),
    close: () => session.destroy(),
  };
}

type Gated = ReturnType<typeof createGated>;

async function serve(isHttp2: boolean, use: (client: Client, gated: Gated) => Promise<void>): Promise<void> {
  const gated = createGated();
  const authority = isHttp2 ? await createTestAuthority('test CA') : undefined;
  const tls = await authority?.issue('CN=server', ['127.0.0.1']);
  const listen = createListenHttp(createMemoryLog());
  const server = await listen({ host: '127.0.0.1', port: 0, ...(tls && { tls }) }, gated.handler);
  const client = authority === undefined ? http1Client(server) : http2Client(server, authority.caPem);
  try {
    await use(client, gated);
  } finally {
    client.close();
    await server.close(0);
  }
}

for (const isHttp2 of [false, true])
  describe(isHttp2 ? 'HTTP/2' : 'HTTP/1.1', () => {
    test('a small body passes without asking', () =>
      serve(isHttp2, async (client, { times }) => {
        assert.equal(await client.post(FREE_BYTES), `200 ${FREE_BYTES}`);
        assert.equal(times(), 0);
      }));

    test('a large one requests a slot once and is read on when it has it', () =>
      serve(isHttp2, async (client, { asked, gate, times, hasRead }) => {
        const answer = client.post(1_000_000);
        await asked;
        for (let other = 0; other < 10; other++) await client.get();
        assert.equal(hasRead(), false);
        gate.resolve();
        assert.equal(await answer, '200 1000000');
        assert.equal(times(), 1);
      }));

    test('a large one that is refused gets a response, and others are served', () =>
      serve(isHttp2, async (client, { gate }) => {
        gate.promise.catch(() => undefined);
        gate.reject(new Error('too many'));
        assert.equal(await client.post(200_000), '429 too many');
        await client.get();
      }));

    test('one that grows past the limit behind the gate is too large', () =>
      serve(isHttp2, async (client, { gate }) => {
        gate.resolve();
        assert.equal(await client.post(LIMIT_BYTES + 1), `429 request body exceeds ${LIMIT_BYTES} bytes`);
        await client.get();
      }));
  });

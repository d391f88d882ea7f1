/** Response headers with values of clients and backends: none may end the process. */
import assert from 'node:assert/strict';
import { connect as connectHttp2 } from 'node:http2';
import { after, before, describe, test } from 'node:test';
import type { HttpHandler, HttpResponse, HttpServer } from '../http.ts';
import { createTestAuthority, type TestAuthority } from './certificates-fixture.ts';
import { createMemoryLog } from '../sim/log.ts';
import { createListenHttp } from './http-server.ts';
import { createNodeNet } from './net.ts';

const net = createNodeNet();
after(() => net.close());

const values: readonly (readonly [text: string, wire: string])[] = [
  ['plain', 'plain'],
  ['unknown field "€"', 'unknown field "â\u0082¬"'],
  ['a\r\nx-injected: 1', 'a  x-injected: 1'],
  ['nul\0', 'nul'],
  ['bell\u0007 and del\u007f end', 'bell  and del  end'],
];

const kinds = ['bytes', 'stream'] as const;
let next: HttpResponse;
const handlers: Readonly<Record<string, HttpHandler>> = {
  'at once': () => next,
  later: async () => next,
};

function answerOf(kind: (typeof kinds)[number], status: number, text: string): HttpResponse {
  const headers = { 'x-one': text, 'x-list': [text, 'second'] };
  if (kind === 'bytes') return { kind, status, headers, chunks: [Buffer.from('body')] };
  return { kind, status, headers, run: async (sink) => void (await sink.write('body')) };
}

for (const [when, handler] of Object.entries(handlers))
  describe(`a response created ${when}`, () => {
    let authority: TestAuthority;
    let server: HttpServer;
    let url: string;
    before(async () => {
      authority = await createTestAuthority('test CA');
      const tls = await authority.issue('CN=server', ['127.0.0.1', 'localhost']);
      server = await createListenHttp(createMemoryLog())({ host: '127.0.0.1', port: 0, tls }, handler);
      url = `https://127.0.0.1:${server.port}`;
    });
    after(() => server.close(0));

    const overHttp1 = async (): Promise<Readonly<Record<string, unknown>>> => {
      const answer = await net.http({ method: 'GET', url, tls: { caPem: authority.caPem } });
      answer.cancel();
      return { status: answer.status, ...answer.headers };
    };
    const overHttp2 = (): Promise<Readonly<Record<string, unknown>>> =>
      new Promise((resolve, reject) => {
        const session = connectHttp2(url, { ca: authority.caPem });
        session.on('error', reject);
        const stream = session.request({ ':path': '/' });
        stream.on('response', (head) => resolve({ ...head, status: head[':status'] }));
        stream.on('error', reject).on('close', () => {
          reject(new Error('no answer'));
          session.close();
        });
        stream.resume();
      });

    for (const [protocol, ask] of Object.entries({ 'HTTP/1.1': overHttp1, 'HTTP/2': overHttp2 }))
      for (const kind of kinds) {
        test(`${kind} over ${protocol} keep valid header characters`, async () => {
          for (const [text, wire] of values) {
            next = answerOf(kind, 200, text);
            const head = await ask();
            assert.equal(head['x-injected'], undefined);
            assert.equal(String(head['x-one']).trim(), wire);
            assert.match(String(head['x-list']), /second$/);
          }
        });

        test(`${kind} over ${protocol} with a status that does not exist are a 500`, async () => {
          for (const status of [42, 1000]) {
            next = answerOf(kind, status, 'x');
            assert.equal((await ask())['status'], 500);
          }
          next = answerOf(kind, 200, 'x');
          assert.equal((await ask())['status'], 200);
        });
      }
  });

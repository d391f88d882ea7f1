/** TLS and HTTP/2 through the data plane over real sockets: names, changing certificates, streams, trailers. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2, createServer as createHttp2Server, type ClientHttp2Session } from 'node:http2';
import { createServer } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { after, afterEach, before, describe, test } from 'node:test';
import { createTestAuthority, type TestAuthority } from '../../platform/node/certificates-fixture.ts';
import type { Backend } from '../snapshot/snapshot.ts';
import { createLineReader } from './control-messages.ts';
import { MAX_REPORT_BYTES, readReport } from './data-plane-report.ts';
import { atEnd, endAll, raw, route, startBackend, startPlane, startServer } from './data-plane-fixture.ts';

let authority: TestAuthority;
before(async () => {
  authority = await createTestAuthority('test');
});
afterEach(endAll);
after(endAll);

const certificate = async (names: readonly string[], subject = 'CN=x') => ({
  names,
  ...(await authority.issue(
    subject,
    names.filter((name) => name !== ''),
  )),
});

function client(port: number): ClientHttp2Session {
  const session = connectHttp2(`https://localhost:${port}`, { rejectUnauthorized: false, servername: 'web.example' });
  session.on('error', () => undefined);
  atEnd(() => session.destroy());
  return session;
}

interface Http2Answer {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly trailers: Record<string, unknown>;
  readonly body: string;
}

async function ask(session: ClientHttp2Session, head: Record<string, string>, body?: string): Promise<Http2Answer> {
  const stream = session.request({ ':authority': 'web.example', ...head }, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  let trailers: Record<string, unknown> = {};
  stream.on('trailers', (got) => (trailers = got));
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return { status: Number(headers[':status']), headers, trailers, body: text };
}

/** An HTTP/2 server without TLS that responds like gRPC servers. */
async function startGrpcLike(): Promise<Backend> {
  const server = createHttp2Server();
  server.on('stream', (stream, headers) => {
    if (headers[':path'] === '/trailers-only') {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' }, { endStream: true });
      return;
    }
    if (headers[':path'] === '/reset') return stream.close(8);
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'x-te': String(headers['te']) }));
    stream.pipe(stream);
  });
  return { protocol: 'h2c', endpoints: [await startServer(server)] };
}

describe('HTTP/2', () => {
  test('an HTTP/1.1 backend can serve an HTTP/2 client', async () => {
    const plane = await startPlane();
    const b = await startBackend((message, response) => {
      let body = '';
      message.on('data', (chunk) => (body += String(chunk)));
      message.on('end', () => {
        response.setHeader('set-cookie', ['a=1', 'b=2']);
        response.setHeader('connection', 'keep-alive');
        response.end(JSON.stringify({ ...message.headers, url: message.url, body }));
      });
    });
    await plane.serve([route()], { b }, [await certificate([''])]);
    const session = client(plane.tlsPort);
    const answer = await ask(session, { ':path': '/x?y', ':method': 'POST', cookie: 'c=1' }, 'text');
    const got = JSON.parse(answer.body) as Record<string, string>;
    assert.deepEqual(
      [got['host'], got['url'], got['body'], got['cookie'], got['x-forwarded-proto'], got['x-forwarded-port']],
      ['web.example', '/x?y', 'text', 'c=1', 'https', String(plane.tlsPort)],
    );
    assert.deepEqual([answer.status, answer.headers['set-cookie']], [200, ['a=1', 'b=2']]);
  });

  test('repeated headers pass between HTTP/1.1 and HTTP/2 in both directions', async () => {
    const plane = await startPlane();
    const twice = ['x-content-type-options', 'nosniff', 'x-content-type-options', 'nosniff', 'retry-after', '1'];
    const b = await startBackend((_message, response) => {
      response.writeHead(200, [...twice, 'retry-after', '2', 'x-own', 'a', 'x-own', 'b']);
      response.end();
    });
    await plane.serve([route()], { b }, [await certificate([''])]);
    const { status, headers } = await ask(client(plane.tlsPort), { ':path': '/' });
    const shown = [headers['x-content-type-options'], headers['retry-after'], headers['x-own']];
    assert.deepEqual([status, ...shown], [200, 'nosniff', '1, 2', 'a, b']);
    await plane.serve([route()], { b: await startGrpcLike() });
    const lines = 'x-content-type-options: a\r\nx-content-type-options: b\r\nuser-agent: c\r\nuser-agent: c\r\n';
    assert.match(
      await raw(plane.port, `GET / HTTP/1.1\r\nhost: a\r\n${lines}connection: close\r\n\r\n`),
      /^HTTP\/1.1 200/,
    );
  });

  test('trailers that belong to a connection or name a host are dropped', async () => {
    const plane = await startPlane();
    const trailers = 'keep-alive: x\r\nte: y\r\nhost: z\r\nx-sum: 5\r\n';
    const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
    const server = createServer((socket) => {
      socket.once('data', () => socket.write(`${head}4\r\ntext\r\n0\r\n${trailers}\r\n`));
    });
    const b = { protocol: 'http' as const, endpoints: [await startServer(server)] };
    await plane.serve([route()], { b }, [await certificate([''])]);
    const answer = await ask(client(plane.tlsPort), { ':path': '/' });
    assert.deepEqual([answer.body, Object.keys(answer.trailers)], ['text', ['x-sum']]);
  });

  test('a request like those of gRPC: bytes in both directions as they arrive, trailers at the end', async () => {
    const plane = await startPlane();
    await plane.serve([route()], { b: await startGrpcLike() }, [await certificate([''])]);
    const session = client(plane.tlsPort);
    const stream = session.request({ ':authority': 'web.example', ':path': '/s', ':method': 'POST', te: 'trailers' });
    let trailers: Record<string, unknown> = {};
    stream.on('trailers', (got) => (trailers = got));
    stream.write('one');
    await once(stream, 'response');
    const [first] = (await once(stream, 'data')) as [Buffer];
    assert.equal(String(first), 'one');
    stream.end('two');
    const [second] = (await once(stream, 'data')) as [Buffer];
    assert.equal(String(second), 'two');
    await once(stream, 'end');
    assert.deepEqual([trailers['grpc-status'], trailers['x-te']], ['0', 'trailers']);
  });

  test('a response that consists of headers, and one that is reset, are forwarded', async () => {
    const plane = await startPlane();
    await plane.serve([route()], { b: await startGrpcLike() }, [await certificate([''])]);
    const session = client(plane.tlsPort);
    const answer = await ask(session, { ':path': '/trailers-only', ':method': 'POST' }, 'x');
    assert.deepEqual([answer.status, answer.headers['grpc-status'], answer.body], [200, '12', '']);
    assert.equal((await ask(session, { ':path': '/reset', ':method': 'POST' }, 'x')).status, 502);
    assert.equal(session.destroyed, false);
  });

  test('a backend never reads a body without a length as the next request, whatever the method and headers', async () => {
    const plane = await startPlane();
    const seen: string[] = [];
    const b = await startBackend((message, response) => {
      seen.push(`${message.method} ${message.url}`);
      message.resume().on('end', () => response.end('ok'));
    });
    await plane.serve([route()], { b }, [await certificate([''])]);
    const session = client(plane.tlsPort);
    for (const method of ['GET', 'DELETE', 'POST']) {
      const head = { ':method': method, ':path': '/public', 'x-a': 'content-length' };
      assert.equal((await ask(session, head, 'GET /admin HTTP/1.1\r\nHost: internal\r\n\r\n')).status, 200);
    }
    assert.deepEqual(seen, ['GET /public', 'DELETE /public', 'POST /public']);
  });

  test('a host that differs from the authority is refused', async () => {
    const plane = await startPlane();
    const b = await startBackend((_message, response) => response.end());
    await plane.serve([route()], { b }, [await certificate([''])]);
    const { status } = await ask(client(plane.tlsPort), { ':path': '/', host: 'other.example' });
    assert.equal(status, 400);
  });
});

describe('certificates', () => {
  const shown = async (port: number, servername: string | undefined): Promise<string> => {
    const socket: TLSSocket = connectTls({ port, host: '127.0.0.1', servername, rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const { subject } = socket.getPeerCertificate();
    socket.destroy();
    return String(subject.CN);
  };

  test('the requested name selects the certificate: exact, wildcard of one label, else the default', async () => {
    const plane = await startPlane();
    await plane.serve([], {}, [
      await certificate(['web.example'], 'CN=exact'),
      await certificate(['*.example'], 'CN=wild'),
      await certificate([''], 'CN=default'),
    ]);
    const names = ['web.example', 'WEB.example', 'api.example', 'a.b.example', 'other.test', undefined];
    const found = [];
    for (const name of names) found.push(await shown(plane.tlsPort, name));
    assert.deepEqual(found, ['exact', 'exact', 'wild', 'default', 'default', 'default']);
  });

  test('a replaced certificate applies to the next connection; open connections continue', async () => {
    const plane = await startPlane();
    const b = await startBackend((_message, response) => response.end('ok'));
    const serve = async (subject: string): Promise<void> =>
      plane.serve([route()], { b }, [await certificate(['web.example'], subject), await certificate([''])]);
    await serve('CN=first');
    const session = client(plane.tlsPort);
    assert.equal((await ask(session, { ':path': '/' })).body, 'ok');
    await serve('CN=second');
    assert.equal(await shown(plane.tlsPort, 'web.example'), 'second');
    assert.equal((await ask(session, { ':path': '/' })).body, 'ok');
  });

  test('an invalid certificate is a problem of the report and does not affect the others', async () => {
    const plane = await startPlane();
    await plane.serve([], {}, [
      { names: ['bad.example'], certPem: 'x', keyPem: 'y' },
      await certificate([''], 'CN=default'),
    ]);
    assert.match(plane.reports.at(-1)?.problems[0] ?? '', /^the certificate of bad\.example: /);
    assert.equal(await shown(plane.tlsPort, 'bad.example'), 'default');
  });

  test("a report with any number of invalid certificates' names is readable", async () => {
    const plane = await startPlane();
    const names = Array.from({ length: 6000 }, (_, index) => `${'n'.repeat(200)}${index}.example`);
    await plane.serve([], {}, [{ names, certPem: 'x', keyPem: 'y' }]);
    let problems: readonly string[] = [];
    const read = createLineReader((line) => void ({ problems } = readReport(line, new Set())), MAX_REPORT_BYTES);
    for (const part of JSON.stringify(plane.reports.at(-1)).match(/.{1,65536}/g) ?? []) read(part);
    read('\n');
    assert.match(problems[0] ?? '', /^the certificate of n+0\.example, /);
  });
});

import assert from 'node:assert/strict';
import { constants, createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { createGrpcConnector } from '../../grpc/grpc-connector.ts';
import { createMessageCodec } from '../../grpc/message-codec.ts';
import { createNodeClock } from '../../platform/node/clock.ts';
import { HEALTH_TABLE, probeGrpc } from './grpc-probe.ts';
import type { ProbeOutcome } from './probe-outcome.ts';

type Answer = (stream: ServerHttp2Stream, service: string) => void;

const TIMEOUT_MS = 10_000;
const codec = createMessageCodec([HEALTH_TABLE]);

async function serve(
  t: TestContext,
  answer: Answer,
): Promise<{ port: number; paths: string[]; sessions: Set<ServerHttp2Session> }> {
  const paths: string[] = [];
  const sessions = new Set<ServerHttp2Session>();
  // Padded frames, which hide the size of an answer.
  const server: Http2Server = createServer({ paddingStrategy: constants.PADDING_STRATEGY_MAX });
  server.on('session', (session) =>
    sessions.add(session.on('error', () => undefined).on('close', () => sessions.delete(session))),
  );
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    paths.push(
      `${headers[':method']} ${headers[':path']} ${headers['content-type']} ${headers.te} ${headers['user-agent']}`,
    );
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const { service } = codec.decode(
        'grpc.health.v1.HealthCheckRequest',
        Buffer.concat(chunks).subarray(5),
      ) as unknown as { service: string };
      answer(stream, service);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, paths, sessions };
}

function respond(stream: ServerHttp2Stream, message: readonly number[] | undefined, trailers: object): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ ...trailers }));
  stream.end(message === undefined ? undefined : Buffer.from([0, 0, 0, 0, message.length, ...message]));
}

const OK = { 'grpc-status': '0' };
const probe = (port: number, more: { service?: string; timeoutMs?: number } = {}): Promise<ProbeOutcome> =>
  probeGrpc(createGrpcConnector(createNodeClock()), {
    host: '127.0.0.1',
    port,
    service: '',
    timeoutMs: TIMEOUT_MS,
    ...more,
  });

describe('A gRPC probe', () => {
  const rows: readonly { title: string; answer: Answer; output: string }[] = [
    { title: 'SERVING is healthy', answer: (stream) => respond(stream, [8, 1], OK), output: 'service healthy' },
    ...['UNKNOWN', 'NOT_SERVING', 'SERVICE_UNKNOWN', '9'].map((status, index) => {
      const message = index === 0 ? [] : [8, [0, 2, 3, 9][index]!];
      const output = `service unhealthy (responded with "${status}")`;
      return {
        title: `${status} is unhealthy`,
        answer: (stream: ServerHttp2Stream) => respond(stream, message, OK),
        output,
      };
    }),
    {
      title: 'a server without the service says so',
      answer: (stream) => respond(stream, undefined, { 'grpc-status': '12', 'grpc-message': 'unknown service' }),
      output: 'error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unknown service',
    },
    {
      title: 'another error is named',
      answer: (stream) => respond(stream, undefined, { 'grpc-status': '5', 'grpc-message': 'unknown%20service' }),
      output: 'error: health rpc probe failed: rpc error: code = NotFound desc = unknown service',
    },
    {
      title: 'an answer over HTTP alone is an error',
      answer: (stream) => {
        stream.respond({ ':status': 503 });
        stream.end();
      },
      output: 'error: health rpc probe failed: rpc error: code = Unavailable desc = unexpected HTTP status code 503',
    },
  ];
  for (const { title, answer, output } of rows)
    it(`reports: ${title}`, async (t) => {
      const { port, paths } = await serve(t, answer);
      const result = output === 'service healthy' ? 'success' : 'failure';
      assert.deepEqual(await probe(port), { result, output });
      assert.deepEqual(paths, ['POST /grpc.health.v1.Health/Check application/grpc+proto trailers kube-probe/1.36']);
    });

  it('sends the name of the service', async (t) => {
    const asked: string[] = [];
    const { port } = await serve(t, (stream, service) => {
      asked.push(service);
      respond(stream, [8, 1], OK);
    });
    assert.equal((await probe(port, { service: 'orders' })).result, 'success');
    assert.deepEqual(asked, ['orders']);
  });

  it('closes its connection', async (t) => {
    const { port, sessions } = await serve(t, (stream) => respond(stream, [8, 1], OK));
    for (let round = 0; round < 3; round++) assert.equal((await probe(port)).result, 'success');
    for (const session of sessions) await new Promise((resolve) => session.on('close', resolve));
  });

  it('ends as a timeout where nothing listens or answers', async (t) => {
    const { port } = await serve(t, () => undefined);
    assert.deepEqual(await probe(port, { timeoutMs: 100 }), {
      result: 'failure',
      output: 'timeout: health rpc did not complete within 0.1s',
    });
    assert.deepEqual(await probe(1), {
      result: 'failure',
      output: 'timeout: failed to connect service "127.0.0.1:1" within 10s: context deadline exceeded',
    });
  });
});

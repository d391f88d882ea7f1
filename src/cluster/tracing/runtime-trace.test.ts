/** The trace of a runtime call over a real socket: the header it sends, and the recorded span. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type ServerHttp2Session } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createTracer, type FinishedSpan } from '../../component-helpers/tracing/tracer.ts';
import { createNodeClock } from '../../platform/node/clock.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { createCriClient } from '../../cri/cri-client.ts';

test('the runtime is sent the context of the span of its call, and nothing by untraced calls', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'keelson-cri-'));
  t.after(() => rm(directory, { recursive: true }));
  const endpoint = join(directory, 'socket');
  const received: (string | undefined)[] = [];
  const sessions: ServerHttp2Session[] = [];
  const server = createServer();
  server.on('session', (session) => void sessions.push(session));
  server.on('stream', (stream, headers) => {
    received.push(headers['traceparent'] as string | undefined);
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.from([0, 0, 0, 0, 0]));
  });
  await new Promise<void>((resolve) => server.listen(endpoint, resolve));
  t.after(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  const clock = createNodeClock();
  const ended: FinishedSpan[] = [];
  const deps = { clock, random: createSeededRandom('cri'), onEnd: (span: FinishedSpan) => void ended.push(span) };
  const sync = createTracer(deps, 1_000_000).start('syncPod');
  assert.ok(sync !== undefined);
  const { runtime } = createCriClient({ clock }, { endpoint });
  await runtime.version({ version: 'v1' }, { span: sync });
  await runtime.version({ version: 'v1' });
  const [call] = ended;
  assert.equal(call?.name, 'runtime.v1.RuntimeService/Version');
  assert.deepEqual([call.parent?.spanId, call.context.traceId], [sync.context.spanId, sync.context.traceId]);
  assert.deepEqual(received, [`00-${call.context.traceId}-${call.context.spanId}-01`, undefined]);
});

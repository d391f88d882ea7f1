import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLog } from '../platform/sim/log.ts';
import { createMemoryMetrics } from '../platform/sim/metrics.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { LoopWatchdog } from './loop-watchdog.ts';
import { parseRequestInfo } from './request-info.ts';
import { RequestScope } from './request-scope.ts';

function scopeOf(method: string, path: string): RequestScope {
  const params = new URLSearchParams();
  const headers = { 'user-agent': 'curl/8', 'content-type': 'application/yaml', 'content-length': '3000000' };
  const request = { method, path, query: 'token=secret', headers, body: 'secret' } as never;
  const info = parseRequestInfo({ method, path, params });
  return new RequestScope({ request, info, params, user: { name: 'u', groups: [] } });
}

function fixture() {
  const clock = new VirtualClock();
  const log = createMemoryLog();
  const metrics = createMemoryMetrics();
  let halted: ((haltMs: number) => void) | undefined;
  let expected = 0;
  const loop = {
    onHalt: (listener: (haltMs: number) => void) => {
      halted = listener;
      return { expectWork: () => void expected++, stop: () => void (halted = undefined) };
    },
  };
  const watchdog = new LoopWatchdog({ loop, clock, log, metrics });
  const stop = watchdog.start();
  return {
    clock,
    log,
    metrics,
    watchdog,
    stop,
    halt: (ms: number) => halted?.(ms),
    isOn: () => halted !== undefined,
    expected: () => expected,
  };
}

const CONFIG_MAPS = '/api/v1/namespaces/a/configmaps';

test('a long halt is logged with the slow requests that were under way, without body and query', async () => {
  const { clock, log, watchdog, halt } = fixture();
  await clock.advance(60_000);
  const nowMs = clock.monotonicMs();
  watchdog.ended(scopeOf('GET', '/api/v1/pods'), { startMs: nowMs - 50_000, endMs: nowMs - 49_000 }); // long ago
  watchdog.ended(scopeOf('GET', '/api/v1/nodes'), { startMs: nowMs - 20, endMs: nowMs }); // quick
  watchdog.ended(scopeOf('POST', CONFIG_MAPS), { startMs: nowMs - 700, endMs: nowMs });
  halt(600);
  watchdog.ended(scopeOf('POST', '/version'), { startMs: nowMs - 650, endMs: nowMs + 500 }); // ends after the halt
  assert.equal(log.entries.length, 0);
  await clock.advance(2000);
  assert.equal(log.entries.length, 1);
  const { haltMs, requests } = log.entries[0]!.fields as { haltMs: number; requests: object[] };
  assert.equal(haltMs, 600);
  assert.deepEqual(requests[0], {
    verb: 'create',
    resource: 'configmaps',
    namespace: 'a',
    user: 'u',
    userAgent: 'curl/8',
    contentType: 'application/yaml',
    bytes: 3_000_000,
    tookMs: 700,
  });
  assert.equal(requests.length, 2);
  assert.ok(!JSON.stringify(log.entries).includes('secret'));
});

test('short halts are counted only, and many long ones make a line in ten seconds', async () => {
  const { clock, log, metrics, halt } = fixture();
  halt(20);
  halt(249);
  await clock.advance(5000);
  assert.equal(log.entries.length, 0);
  for (let second = 0; second < 30; second++) {
    halt(300);
    await clock.advance(1000);
  }
  assert.deepEqual(
    log.entries.map(({ fields }) => (fields as { haltsNotLogged?: number }).haltsNotLogged ?? 0),
    [1, 9, 9],
  );
  assert.match(await metrics.expose(), /keelson_event_loop_stall_seconds_count 32\n/);
});

test('the measuring ends with the server', () => {
  const { stop, isOn } = fixture();
  assert.ok(isOn());
  stop();
  assert.ok(!isOn());
});

test('requests of clients let measuring go on, those of the cluster itself do not', () => {
  const { watchdog, expected } = fixture();
  const { request } = scopeOf('GET', CONFIG_MAPS);
  watchdog.began({ request });
  watchdog.began({ request: { ...request, principal: { name: 'system:apiserver', groups: [] } } });
  assert.equal(expected(), 1);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLog } from './log.ts';
import { createMemoryMetrics } from './metrics.ts';

test('log lines carry the component path and all fields', () => {
  const log = createMemoryLog();
  log.child('kubelet', { node: 'n1' }).child('pleg').warn('relist failed', { pod: 'a/b' });
  assert.deepEqual(log.entries, [
    { level: 'warn', component: 'kubelet.pleg', message: 'relist failed', fields: { node: 'n1', pod: 'a/b' } },
  ]);
});

test('a forwarding log keeps no lines: it passes them on with component and fields, and counts unexpected errors', () => {
  const [to, counted] = [createMemoryLog(), [] as string[]];
  const log = createMemoryLog({
    forwardTo: to,
    minLevel: 'warn',
    onUnexpected: (component) => counted.push(component),
  });
  const pleg = log.child('kubelet', { node: 'n1' }).child('pleg');
  pleg.info('relist done');
  pleg.warn('relist failed', { pod: 'a/b' });
  const err = new TypeError('broken');
  log.unexpected('a listener failed', err);
  assert.deepEqual(to.entries, [
    { level: 'warn', component: 'kubelet.pleg', message: 'relist failed', fields: { node: 'n1', pod: 'a/b' } },
    { level: 'error', component: '', message: 'a listener failed', fields: { err } },
  ]);
  assert.deepEqual([log.entries, counted], [[], ['']]);
});

test('metrics count and print in the text format', async () => {
  const metrics = createMemoryMetrics();
  const spec = { name: 'requests_total', help: 'Requests.', labels: ['code'] };
  metrics.counter(spec).inc({ code: '200' });
  metrics.counter(spec).inc({ code: '200' }, 2);
  const gauge = metrics.gauge({ name: 'depth', help: 'Depth.', labels: ['q"'] });
  gauge.set(4, { 'q"': 'a\n"b' });
  metrics.histogram({ name: 'took_seconds', help: 'Took.', buckets: [1, 2] }).observe(1.5);
  assert.equal(metrics.value('requests_total', { code: '200' }), 3);
  const text = await metrics.expose();
  assert.ok(text.includes('requests_total{code="200"} 3\n'));
  assert.ok(text.includes('="a\\n\\"b"} 4\n'));
  assert.ok(
    text.includes('took_seconds_bucket{le="1"} 0\ntook_seconds_bucket{le="2"} 1\ntook_seconds_bucket{le="+Inf"} 1\n'),
  );
  assert.throws(() => metrics.counter(spec).inc({ verb: 'GET' }), /no label verb/);
  assert.throws(() => metrics.gauge(spec), /is a counter/);
});

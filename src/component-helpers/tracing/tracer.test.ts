import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { formatTraceparent, parseTraceparent } from '../../platform/trace-context.ts';
import type { Tracer } from '../../platform/tracing.ts';
import { createTracer, type FinishedSpan } from './tracer.ts';
import { tracingSettings } from './tracing-configuration.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const HEADER = `00-${TRACE_ID}-b7ad6b7169203331-01`;

function rig(samplingRatePerMillion: number): { tracer: Tracer; ended: FinishedSpan[]; clock: VirtualClock } {
  const clock = new VirtualClock();
  const ended: FinishedSpan[] = [];
  const deps = { clock, random: createSeededRandom('tracer'), onEnd: (span: FinishedSpan) => ended.push(span) };
  return { tracer: createTracer(deps, samplingRatePerMillion), ended, clock };
}

test('spans have their times, events, attributes and parents', async () => {
  const { tracer, ended, clock } = rig(1_000_000);
  const startMs = clock.nowMs();
  const span = tracer.start('outer', { kind: 'server', attributes: { a: 'b' } });
  assert.ok(span !== undefined);
  await clock.drive(clock.sleep(1000));
  const child = span.child('inner');
  span.event('between');
  await clock.drive(clock.sleep(500));
  child.end(new Error('broken'));
  span.set({ status: 200 });
  span.end();
  span.end(new Error('late'));
  assert.deepEqual(
    ended.map(({ name, kind, error, startMs: from, endMs }) => [name, kind, error, from - startMs, endMs - startMs]),
    [
      ['inner', 'internal', 'broken', 1000, 1500],
      ['outer', 'server', undefined, 0, 1500],
    ],
  );
  const [inner, outer] = ended;
  assert.deepEqual(inner?.parent, outer?.context);
  assert.deepEqual(outer?.attributes, { a: 'b', status: 200 });
  assert.deepEqual(outer?.events, [{ name: 'between', timeMs: startMs + 1000 }]);
  assert.match(outer!.context.traceId, /^[0-9a-f]{32}$/);
  assert.match(outer!.context.spanId, /^[0-9a-f]{16}$/);
});

test('the parent decides about sampling, otherwise the rate does', () => {
  const parent = parseTraceparent(HEADER)!;
  assert.equal(rig(0).tracer.start('x', { parent })?.context.traceId, TRACE_ID);
  assert.equal(rig(1_000_000).tracer.start('x', { parent: { ...parent, sampled: false } }), undefined);
  assert.equal(rig(0).tracer.start('x'), undefined);
  const { tracer } = rig(250_000);
  const sampled = Array.from({ length: 4000 }, () => tracer.start('x')).filter((span) => span !== undefined).length;
  assert.ok(sampled > 900 && sampled < 1100, String(sampled));
});

test('traceparent is read and written as W3C has it', () => {
  const context = parseTraceparent(HEADER);
  assert.deepEqual(context, { traceId: TRACE_ID, spanId: 'b7ad6b7169203331', sampled: true, remote: true });
  assert.equal(formatTraceparent(context!), HEADER);
  assert.equal(parseTraceparent(`${HEADER.slice(0, -2)}00`)?.sampled, false);
  assert.equal(parseTraceparent(`cc${HEADER.slice(2)}-what-comes-later`)?.traceId, TRACE_ID);
  const wrong = [
    undefined,
    '',
    HEADER.toUpperCase(),
    `ff${HEADER.slice(2)}`,
    `${HEADER}-more`,
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `00-${TRACE_ID}-${'0'.repeat(16)}-01`,
    `${HEADER.slice(0, -2)}1`,
  ];
  for (const text of wrong) assert.equal(parseTraceparent(text), undefined, text);
});

test('where spans go, in the forms that gRPC names targets', () => {
  const endpointOf = (text?: string) => tracingSettings(text, 1).endpoint;
  assert.deepEqual(endpointOf(), { url: 'http://localhost:4317' });
  assert.deepEqual(endpointOf('collector:4317'), { url: 'http://collector:4317' });
  assert.deepEqual(endpointOf('[::1]:4317'), { url: 'http://[::1]:4317' });
  assert.deepEqual(endpointOf('dns:///otel.example:55'), { url: 'http://otel.example:55' });
  assert.deepEqual(endpointOf('dns:otel.example:55'), { url: 'http://otel.example:55' });
  assert.deepEqual(endpointOf('unix:///run/otel.sock'), { socketPath: '/run/otel.sock' });
  assert.deepEqual(endpointOf('unix:otel.sock'), { socketPath: 'otel.sock' });
  const refused: readonly [string, RegExp][] = [
    ['https://otel.example', /unsupported scheme: https/],
    ['unix-abstract:otel', /sockets without a file are not supported here/],
    ['unix:', /names no socket/],
    ['a b', /is not of the form host:port/],
    ['', /is not of the form host:port/],
  ];
  for (const [text, message] of refused) assert.throws(() => endpointOf(text), message, text);
  assert.throws(() => tracingSettings(undefined, -1), /sampling rate must be positive/);
  assert.throws(() => tracingSettings(undefined, 1_000_001), /must be less than or equal to one million/);
  assert.throws(() => tracingSettings(undefined, 0.5), /whole number/);
});

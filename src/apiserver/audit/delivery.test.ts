import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringifyJson } from '../../api/codec/json.ts';
import { aborted } from '../../base/abort.ts';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import type { AuditDelivery } from '../options/audit-options.ts';
import { audited, eventOf, MAPS } from './audit-fixture.ts';
import { createDelivery } from './delivery.ts';
import type { AuditEvent, AuditSink } from './event.ts';
import { createWebhookSink } from './webhook-sink.ts';

function delivery(more: Partial<AuditDelivery>): AuditDelivery {
  const none = { throttleQps: 0, throttleBurst: 0, maxEventBytes: 0, maxBatchBytes: 0 };
  return { mode: 'blocking', maxBatchSize: 1, maxWaitMs: 0, bufferSize: 10, ...none, ...more };
}

/** A sink that records batches; while `fails` it rejects them, while `holds` it does not settle. */
function testSink() {
  const state = { batches: [] as AuditEvent[][], fails: false, gate: Promise.withResolvers<void>(), holds: false };
  const sink: AuditSink = {
    encode: (event) => Buffer.from(stringifyJson(event)),
    async send(events) {
      if (state.holds) await state.gate.promise;
      if (state.fails) throw new Error('disk full');
      state.batches.push(events.map((event) => JSON.parse(String(event)) as AuditEvent));
    },
    stop: async () => undefined,
  };
  return { state, sink };
}

const isSettled = async (promise: Promise<unknown>, clock: { settle(): Promise<void> }): Promise<boolean> => {
  let settled = false;
  void promise.then(
    () => (settled = true),
    () => (settled = true),
  );
  await clock.settle();
  return settled;
};

test('blocking: no response before its event is written; a failed write is ignored, unless the mode is strict', async () => {
  for (const [mode, status] of [
    ['blocking', 201],
    ['blocking-strict', 500],
  ] as const) {
    const { state, sink } = testSink();
    const clock = new VirtualClock();
    const log = createMemoryLog();
    const backend = createDelivery({ sink, clock, log }, delivery({ mode }));
    const { server } = await audited('Metadata', {}, [backend]);
    state.holds = true;
    const first = server.send('POST', MAPS, { metadata: { name: 'a' } });
    assert.equal(await isSettled(first, clock), false);
    state.gate.resolve();
    assert.equal((await first).status, 201);
    assert.deepEqual(
      state.batches
        .flat()
        .filter(({ verb }) => verb === 'create')
        .map(({ stage }) => stage),
      ['RequestReceived', 'ResponseComplete'],
    );
    state.fails = true;
    const second = await server.send('POST', MAPS, { metadata: { name: 'b' } });
    assert.equal(second.status, status);
    if (status === 500) assert.match(JSON.stringify(second.body), /failed to store audit event/);
    assert.ok(log.entries.some(({ message }) => message === 'audit: an event is lost'));
    await server.server.stop();
  }
});

test('large events lose their objects, and batches are split', async () => {
  const { state, sink } = testSink();
  const clock = new VirtualClock();
  const log = createMemoryLog();
  const options = delivery({ mode: 'batch', maxBatchSize: 10, maxWaitMs: 10, maxEventBytes: 500, maxBatchBytes: 700 });
  const backend = createDelivery({ sink, clock, log }, options);
  const body = { data: 'x'.repeat(1000) };
  void backend.write({ ...eventOf('1'), requestObject: body, responseObject: body, annotations: { a: 'b' } });
  void backend.write({ ...eventOf('2'), requestURI: `/${'x'.repeat(600)}` });
  for (const id of ['3', '4', '5']) void backend.write(eventOf(id));
  await clock.advance(10);
  const [first] = state.batches[0]!;
  assert.deepEqual([first?.requestObject, first?.responseObject], [undefined, undefined]);
  assert.deepEqual(first?.annotations, { a: 'b', 'audit.k8s.io/truncated': 'true' });
  assert.deepEqual(
    state.batches.map((batch) => batch.map(({ auditID }) => auditID)),
    [
      ['1', '3'],
      ['4', '5'],
    ],
  );
  assert.ok(log.entries.some(({ message }) => message.includes('too large even without its objects')));
  await backend.stop();
});

test('the queue is bounded in bytes, and so is each batch: an absent webhook does not grow the memory', async () => {
  const { state, sink } = testSink();
  const clock = new VirtualClock();
  const log = createMemoryLog();
  let encoded = 0;
  const counted: AuditSink = { ...sink, encode: (event) => (encoded++, sink.encode(event)) };
  const options = delivery({ mode: 'batch', maxBatchSize: 400, maxWaitMs: 30_000, bufferSize: 10_000 });
  const backend = createDelivery({ sink: counted, clock, log }, options);
  state.holds = true;
  const large = 'x'.repeat(1024 * 1024);
  for (let id = 0; id < 100; id++) void backend.write({ ...eventOf(String(id)), requestObject: { data: large } });
  await clock.settle();
  state.gate.resolve();
  state.holds = false;
  await clock.advance(30_000);
  const sizes = state.batches.map(({ length }) => length);
  assert.ok(Math.max(...sizes) <= 4, `${sizes}`);
  assert.ok(sizes.reduce((sum, size) => sum + size, 0) <= 68);
  assert.ok(log.entries.some(({ message }) => message === 'audit: events were dropped'));
  assert.equal(encoded, 100);
  // Later events find room again.
  void backend.write(eventOf('later'));
  await backend.stop();
  assert.equal(state.batches.at(-1)?.at(-1)?.auditID, 'later');
});

test('batches: some at once, then so many a second', async () => {
  const { state, sink } = testSink();
  const clock = new VirtualClock();
  const options = delivery({ mode: 'batch', throttleQps: 10, throttleBurst: 2 });
  const backend = createDelivery({ sink, clock, log: createMemoryLog() }, options);
  for (const id of ['1', '2', '3', '4']) void backend.write(eventOf(id));
  await clock.settle();
  assert.equal(state.batches.length, 2);
  await clock.advance(100);
  assert.equal(state.batches.length, 3);
  await backend.stop();
  assert.equal(state.batches.length, 4);
});

test('webhook: full batches at once, others after a delay; a failure is retried, an overflow is dropped', async () => {
  const clock = new VirtualClock();
  const batches: string[][] = [];
  let failures = 0;
  const client = {
    post: async () => ({}),
    postUnanswered: async (_target: unknown, { body }: { body: Buffer }) => {
      if (failures-- > 0) throw new Error('down');
      batches.push((JSON.parse(String(body)) as { items: AuditEvent[] }).items.map(({ auditID }) => auditID));
    },
  };
  const sink = createWebhookSink({ client: client as never, target: {} as never, clock }, 100);
  const options = delivery({ mode: 'batch', maxBatchSize: 2, maxWaitMs: 1000, bufferSize: 3 });
  const backend = createDelivery({ sink, clock, log: createMemoryLog() }, options);
  for (const id of ['1', '2', '3']) void backend.write(eventOf(id));
  await clock.settle();
  assert.deepEqual(batches, [['1', '2'], ['3']]);
  void backend.write(eventOf('4'));
  await clock.advance(999);
  assert.equal(batches.length, 2);
  await clock.advance(1);
  assert.deepEqual(batches[2], ['4']);
  failures = 1;
  for (const id of ['5', '6', '7', '8', '9', '10']) void backend.write(eventOf(id));
  await clock.advance(100);
  assert.deepEqual(batches.slice(3).flat(), ['5', '6', '7', '8', '9']);
  await backend.stop();
});

test('webhook: the shutdown waits for no retries, and for an answer only shortly', async (t) => {
  for (const [what, answer, endMs] of [
    ['is down', () => Promise.reject(new Error('down')), 0],
    ['says nothing', (signal: AbortSignal) => aborted(signal).then(() => Promise.reject(new Error('cut'))), 10_000],
  ] as const)
    await t.test(`one that ${what}`, async () => {
      const clock = new VirtualClock();
      const log = createMemoryLog();
      let calls = 0;
      const client = {
        postUnanswered: (_target: unknown, { signal }: { signal: AbortSignal }) => {
          calls++;
          return answer(signal);
        },
      };
      const sink = createWebhookSink({ client: client as never, target: {} as never, clock }, 10_000);
      const backend = createDelivery({ sink, clock, log }, delivery({ mode: 'batch', maxBatchSize: 2 }));
      for (const id of ['1', '2', '3', '4', '5']) void backend.write(eventOf(id));
      await clock.settle();
      assert.equal(calls, 1);
      const startMs = clock.monotonicMs();
      await clock.drive(backend.stop());
      assert.equal(clock.monotonicMs() - startMs, endMs);
      const lost = log.entries.filter(({ message }) => message === 'audit: a batch is lost');
      assert.deepEqual([lost.length, lost[0]?.fields?.['lost']], [1, 5]);
      assert.deepEqual([calls <= 2, clock.pendingTimers], [true, 0]);
    });
});

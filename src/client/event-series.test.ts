import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../api/gen/core-v1.ts';
import { EventsV1, Pods } from '../api/gen/resources.ts';
import { createMemoryLog } from '../platform/sim/log.ts';
import { createSeededRandom } from '../platform/sim/random.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { EventSeriesBroadcaster } from './event-series-broadcaster.ts';
import { createFakeApi } from './fake-api-fixture.ts';
import { createInProcessClient } from './in-process-transport.ts';

function setUp() {
  const clock = new VirtualClock();
  const api = createFakeApi(() => '2026-01-01T00:00:00Z');
  const principal = { name: 'a', groups: [] };
  const client = createInProcessClient({ handler: api.handler, clock, principal, userAgent: 'test' });
  const log = createMemoryLog();
  const broadcaster = new EventSeriesBroadcaster({ client, clock, random: createSeededRandom(1), log, hostName: 'h' });
  const stop = new AbortController();
  const seed = (name: string): Pod =>
    api.seed(Pods, { metadata: { namespace: 'default', name }, spec: { containers: [] } } as Pod);
  const recorder = broadcaster.recorderFor('default-scheduler');
  broadcaster.start(stop.signal);
  return { clock, api, stop, recorder, pod: seed('web'), other: seed('other'), events: () => api.objects(EventsV1) };
}

const scheduled = { type: 'Normal', reason: 'Scheduled', action: 'Binding', note: 'assigned' } as const;

test('An event contains its time in microseconds, its action, both objects and its reporter', async () => {
  const { clock, stop, recorder, pod, other, events } = setUp();
  recorder.eventf({ ...scheduled, regarding: pod, related: other });
  await clock.settle();
  const [event] = events();
  assert.match(event?.metadata.name ?? '', /^web\.[0-9a-f]{16}$/);
  assert.equal(event?.eventTime, '2026-01-01T00:00:00.000000Z');
  assert.deepEqual(
    [event?.action, event?.regarding?.name, event?.related?.name, event?.note],
    ['Binding', 'web', 'other', 'assigned'],
  );
  assert.deepEqual(
    [event?.reportingController, event?.reportingInstance],
    ['default-scheduler', 'default-scheduler-h'],
  );
  assert.equal(event?.series, undefined);
  stop.abort();
});

test('A repeated event becomes a series of two; its final count is written after a quiet period', async () => {
  const { clock, stop, recorder, pod, api, events } = setUp();
  for (let count = 0; count < 5; count++) {
    recorder.eventf({ ...scheduled, regarding: pod, note: `note ${count}` });
    await clock.advance(1000);
  }
  assert.deepEqual(
    events().map(({ series }) => series),
    [{ count: 2, lastObservedTime: '2026-01-01T00:00:01.000000Z' }],
  );
  await clock.advance(13 * 60_000);
  assert.deepEqual(events()[0]?.series, { count: 5, lastObservedTime: '2026-01-01T00:00:04.000000Z' });
  const before = api.requests.length;
  await clock.advance(60 * 60_000);
  assert.equal(api.requests.length, before, 'a finished series is forgotten');
  recorder.eventf({ ...scheduled, regarding: pod });
  await clock.settle();
  assert.equal(events().length, 2, 'the next event begins anew');
  stop.abort();
});

test('A series that continues is refreshed every 30 minutes', async () => {
  const { clock, stop, recorder, pod, events } = setUp();
  for (let minute = 0; minute < 35; minute++) {
    recorder.eventf({ ...scheduled, regarding: pod });
    await clock.advance(60_000);
  }
  assert.equal(events()[0]?.series?.count, 30);
  stop.abort();
});

test('Events of other objects, reasons and related objects are events of their own', async () => {
  const { clock, stop, recorder, pod, other, events } = setUp();
  recorder.eventf({ ...scheduled, regarding: pod });
  recorder.eventf({ ...scheduled, regarding: other });
  recorder.eventf({ ...scheduled, regarding: pod, reason: 'FailedScheduling' });
  recorder.eventf({ ...scheduled, regarding: pod, related: other });
  await clock.settle();
  assert.equal(events().length, 4);
  stop.abort();
});

test('A note is cut at the 1,024 characters the API accepts', async () => {
  const { clock, stop, recorder, pod, events } = setUp();
  recorder.eventf({ ...scheduled, regarding: pod, note: 'x'.repeat(2000) });
  await clock.settle();
  assert.equal(events()[0]?.note?.length, 1024);
  assert.match(events()[0]?.note ?? '', / \.\.\.$/);
  stop.abort();
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Events, Pods } from '../api/gen/resources.ts';
import type { Pod } from '../api/gen/core-v1.ts';
import { createMemoryLog } from '../platform/sim/log.ts';
import { createSeededRandom } from '../platform/sim/random.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { createEventBroadcaster } from './event-broadcaster.ts';
import { createInProcessClient } from './in-process-transport.ts';
import { createFakeApi } from './fake-api-fixture.ts';

function setUp() {
  const clock = new VirtualClock();
  const api = createFakeApi(() => '2026-01-01T00:00:00Z');
  const client = createInProcessClient({
    handler: api.handler,
    clock,
    principal: { name: 'a', groups: [] },
    userAgent: 'test',
  });
  const broadcaster = createEventBroadcaster({ client, clock, random: createSeededRandom(1), log: createMemoryLog() });
  const stop = new AbortController();
  broadcaster.start(stop.signal);
  const pod = api.seed(Pods, { metadata: { namespace: 'default', name: 'web' }, spec: { containers: [] } } as Pod);
  return {
    clock,
    api,
    pod,
    stop,
    recorder: broadcaster.recorderFor('kubelet', 'node-1'),
    events: () => api.objects(Events),
  };
}

describe('events', () => {
  it('carry source, object, name and times', async () => {
    const { clock, pod, recorder, events, stop } = setUp();
    recorder.event(pod, 'Normal', 'Started', 'Started container web');
    recorder.event({ kind: 'Node', name: 'node-1', apiVersion: 'v1' }, 'Warning', 'Rebooted', 'again');
    await clock.settle();
    const [first, second] = events();
    assert.match(first?.metadata.name ?? '', /^web\.[0-9a-f]{16}$/);
    assert.deepEqual(first?.involvedObject, {
      kind: 'Pod',
      namespace: 'default',
      name: 'web',
      uid: pod.metadata.uid,
      apiVersion: 'v1',
      resourceVersion: pod.metadata.resourceVersion,
    });
    assert.deepEqual(first?.source, { component: 'kubelet', host: 'node-1' });
    assert.deepEqual([first?.count, first?.type, first?.firstTimestamp], [1, 'Normal', '2026-01-01T00:00:00Z']);
    assert.equal(second?.metadata.namespace, 'default');
    stop.abort();
  });

  it('count up when repeated', async () => {
    const { clock, pod, recorder, events, stop } = setUp();
    for (let i = 0; i < 3; i++) {
      recorder.event(pod, 'Warning', 'BackOff', 'Back-off restarting');
      await clock.advance(1000);
    }
    assert.equal(events().length, 1);
    assert.deepEqual(
      [events()[0]?.count, events()[0]?.firstTimestamp, events()[0]?.lastTimestamp],
      [3, '2026-01-01T00:00:00Z', '2026-01-01T00:00:02Z'],
    );
    stop.abort();
  });

  it('are combined from the tenth similar one on', async () => {
    const { clock, pod, recorder, events, stop } = setUp();
    for (let i = 0; i < 12; i++) recorder.event(pod, 'Warning', 'Failed', `reason ${i}`);
    await clock.settle();
    assert.equal(events().length, 10);
    assert.deepEqual([events()[9]?.message, events()[9]?.count], ['(combined from similar events): reason 11', 3]);
    stop.abort();
  });

  it('are dropped as spam after 25, one more every five minutes', async () => {
    const { clock, pod, recorder, events, stop } = setUp();
    for (let i = 0; i < 40; i++) recorder.event(pod, 'Warning', 'BackOff', 'again');
    await clock.settle();
    assert.equal(events()[0]?.count, 25);
    await clock.advance(300_000);
    recorder.event(pod, 'Warning', 'BackOff', 'again');
    recorder.event(pod, 'Warning', 'BackOff', 'again');
    await clock.settle();
    assert.equal(events()[0]?.count, 41);
    stop.abort();
  });

  it('are created again with their count when the server deleted them', async () => {
    const { clock, api, pod, recorder, events, stop } = setUp();
    recorder.event(pod, 'Warning', 'BackOff', 'again');
    await clock.settle();
    api.remove(Events, `default/${events()[0]?.metadata.name}`);
    recorder.event(pod, 'Warning', 'BackOff', 'again');
    await clock.settle();
    assert.equal(events()[0]?.count, 2);
    stop.abort();
  });

  it('wait for a server that cannot be reached', async () => {
    const { clock, api, pod, recorder, events, stop } = setUp();
    api.intercept = () => {
      throw new Error('ECONNREFUSED');
    };
    recorder.event(pod, 'Normal', 'Started', 'x');
    await clock.advance(15_000);
    assert.equal(events().length, 0);
    api.intercept = undefined;
    await clock.advance(10_000);
    assert.equal(events().length, 1);
    stop.abort();
  });
});

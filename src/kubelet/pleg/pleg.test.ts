/** Events, inspections and relists of the PLEG. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSimPlatform, type SimPlatform } from '../../platform/sim/sim-platform.ts';
import { createPodCache, emptyPodStatus, type PodCache } from '../container/pod-cache.ts';
import { createFakeRuntime, type FakeRuntime } from '../fixtures/fake-runtime-fixture.ts';
import { startEventedPleg } from './evented-pleg.ts';
import { createGenericPleg, type PodLifecycleEventGenerator } from './generic-pleg.ts';
import { computeEvents, type PlegContainerState, type PodRecord } from './pod-records.ts';

const record = (containers: Readonly<Record<string, PlegContainerState>>): PodRecord => ({
  uid: 'u',
  name: 'web',
  namespace: 'default',
  containers: new Map(Object.entries(containers)),
});

describe('events between two sightings', () => {
  const cases: readonly {
    name: string;
    before?: Record<string, PlegContainerState>;
    after?: Record<string, PlegContainerState>;
    events: readonly string[];
  }[] = [
    { name: 'nothing', before: { a: 'running' }, after: { a: 'running' }, events: [] },
    { name: 'a start', after: { a: 'running' }, events: ['ContainerStarted a'] },
    { name: 'an end', before: { a: 'running' }, after: { a: 'exited' }, events: ['ContainerDied a'] },
    { name: 'an end never seen running', after: { a: 'exited' }, events: ['ContainerDied a'] },
    { name: 'a removal', before: { a: 'exited' }, after: {}, events: ['ContainerRemoved a'] },
    { name: 'an end and removal at once', before: { a: 'running' }, events: ['ContainerDied a', 'ContainerRemoved a'] },
    { name: 'something unknown', before: { a: 'running' }, after: { a: 'unknown' }, events: ['ContainerChanged a'] },
    {
      name: 'a restart',
      before: { a: 'running' },
      after: { a: 'exited', b: 'running' },
      events: ['ContainerDied a', 'ContainerStarted b'],
    },
  ];
  for (const { name, before, after, events } of cases) {
    it(name, () => {
      const found = computeEvents(before && record(before), after && record(after));
      assert.deepEqual(
        found.map(({ type, data, id }) => `${type} ${data}${id === 'u' ? '' : ' wrong pod'}`),
        events,
      );
    });
  }
});

interface Rig {
  readonly platform: SimPlatform;
  readonly runtime: FakeRuntime;
  readonly cache: PodCache;
  readonly pleg: PodLifecycleEventGenerator;
  readonly events: string[];
  readonly controller: AbortController;
}

function rig(): Rig {
  const platform = createSimPlatform();
  const runtime = createFakeRuntime(platform.clock);
  const cache = createPodCache();
  const events: string[] = [];
  const pleg = createGenericPleg(
    {
      platform,
      runtime,
      podCache: cache,
      plegCh: ({ type, id }) => {
        events.push(`${platform.clock.monotonicMs()} ${type} ${cache.peek(id)?.containers[0]?.state ?? 'none'}`);
      },
      identityOf: () => undefined,
    },
    { relistPeriodMs: 1_000 },
  );
  return { platform, runtime, cache, pleg, events, controller: new AbortController() };
}

const pod = { metadata: { name: 'web', namespace: 'default', uid: 'u' }, spec: { containers: [{ name: 'app' }] } };

describe('PLEG', () => {
  it('relists at once, then once per period, and sends changes after the cache has them', async () => {
    const { platform, runtime, pleg, events, controller } = rig();
    runtime.plant(pod);
    pleg.start(controller.signal);
    await platform.clock.settle();
    assert.deepEqual(events, ['0 ContainerStarted running', '0 ContainerStarted running']);
    runtime.exit('u', 'app', 1);
    await platform.clock.advance(1_000);
    assert.deepEqual(events.slice(2), ['1000 ContainerDied exited']);
    controller.abort();
    await platform.clock.advance(10_000);
    assert.equal(platform.clock.pendingTimers, 0);
  });

  it('drops the entry of a pod whose inspection found no more containers', async () => {
    const { platform, runtime, cache, pleg, controller } = rig();
    runtime.plant(pod);
    pleg.start(controller.signal);
    await platform.clock.settle();
    runtime.getPods = async () => [];
    runtime.getPodStatus = async (uid, name, namespace) => emptyPodStatus({ uid, name, namespace });
    pleg.requestReinspect({ uid: 'u', name: 'web', namespace: 'default' });
    await platform.clock.settle();
    assert.deepEqual(cache.peek('u')?.containers, []);
    await platform.clock.advance(1_000);
    assert.equal(cache.peek('u'), undefined);
    controller.abort();
  });

  it('inspects one pod at once on request, and never twice at a time', async () => {
    const { platform, runtime, pleg, events, controller } = rig();
    runtime.plant(pod);
    let looks = 0;
    let atOnce = 0;
    let most = 0;
    const getPodStatus = runtime.getPodStatus;
    runtime.getPodStatus = async (...of) => {
      looks++;
      most = Math.max(most, ++atOnce);
      await platform.clock.sleep(5);
      atOnce--;
      return getPodStatus(...of);
    };
    pleg.start(controller.signal);
    await platform.clock.advance(100);
    looks = 0;
    runtime.exit('u', 'app', 1);
    for (let call = 0; call < 20; call++) pleg.requestReinspect({ uid: 'u', name: 'web', namespace: 'default' });
    await platform.clock.advance(100);
    assert.equal(looks, 2, 'one, and one more for all that asked during it');
    assert.equal(most, 1);
    assert.deepEqual(events.slice(2), ['105 ContainerDied exited']);
    controller.abort();
  });

  it('tries a failed inspection again, and loses no event by it', async () => {
    const { platform, runtime, pleg, events, cache, controller } = rig();
    runtime.plant(pod);
    runtime.failures.set('getPodStatus', new Error('no answer'));
    pleg.start(controller.signal);
    await platform.clock.advance(500);
    assert.deepEqual(events, []);
    assert.throws(() => cache.get({ uid: 'u', name: 'web', namespace: 'default' }), /no answer/);
    runtime.failures.clear();
    await platform.clock.advance(1_000);
    assert.deepEqual(events, ['1000 ContainerStarted running', '1000 ContainerStarted running']);
    controller.abort();
  });

  it('is unhealthy when it cannot relist for three minutes', async () => {
    const { platform, runtime, pleg, controller } = rig();
    assert.equal(pleg.healthProblem(), 'pleg has yet to be successful');
    pleg.start(controller.signal);
    await platform.clock.settle();
    assert.equal(pleg.healthProblem(), undefined);
    runtime.failures.set('getPods', new Error('gone'));
    await platform.clock.advance(185_000);
    assert.match(pleg.healthProblem() ?? '', /^pleg was last seen active 18\ds ago; threshold is 3m0s$/);
    controller.abort();
  });

  it('is driven by events, with the relist as a net', async () => {
    const { platform, runtime, pleg, events, controller } = rig();
    let relists = 0;
    const getPods = runtime.getPods;
    runtime.getPods = (all) => {
      relists++;
      return getPods(all);
    };
    runtime.plant(pod);
    pleg.start(controller.signal);
    const ended = startEventedPleg(
      { platform, runtime, pleg },
      { healthyRelistPeriodMs: 60_000, brokenRelistPeriodMs: 1_000 },
      controller.signal,
    );
    await platform.clock.advance(5_000);
    runtime.exit('u', 'app', 1);
    await platform.clock.advance(10);
    assert.deepEqual(events.slice(2), ['5010 ContainerDied exited']);
    const before = relists;
    await platform.clock.advance(60_000);
    assert.equal(relists - before, 1);
    controller.abort();
    await ended;
  });

  it('inspects once a pod with many events, and not at all when it was inspected meanwhile', async () => {
    const { platform, runtime, pleg, controller } = rig();
    runtime.plant(pod);
    let looks = 0;
    const getPodStatus = runtime.getPodStatus;
    runtime.getPodStatus = (...of) => {
      looks++;
      return getPodStatus(...of);
    };
    pleg.start(controller.signal);
    await platform.clock.settle();
    looks = 0;
    for (let call = 0; call < 5; call++) pleg.noteRuntimeEvent('u');
    await platform.clock.advance(100);
    assert.equal(looks, 1);
    pleg.noteRuntimeEvent('u');
    pleg.requestReinspect({ uid: 'u', name: 'web', namespace: 'default' });
    await platform.clock.advance(100);
    assert.equal(looks, 2);
    const release = pleg.holdEvents('u');
    pleg.noteRuntimeEvent('u');
    await platform.clock.advance(1_000);
    assert.equal(looks, 2, 'held');
    release();
    await platform.clock.advance(100);
    assert.equal(looks, 3, 'not lost');
    controller.abort();
  });

  it('relists every second while the stream is broken', async () => {
    const { platform, runtime, pleg, controller } = rig();
    runtime.eventsWork = false;
    let relists = 0;
    const getPods = runtime.getPods;
    runtime.getPods = (all) => {
      relists++;
      return getPods(all);
    };
    pleg.start(controller.signal);
    void startEventedPleg(
      { platform, runtime, pleg },
      { healthyRelistPeriodMs: 60_000, brokenRelistPeriodMs: 1_000 },
      controller.signal,
    );
    await platform.clock.advance(10_500);
    assert.equal(relists, 11);
    runtime.eventsWork = true;
    await platform.clock.advance(20_000);
    relists = 0;
    await platform.clock.advance(59_000);
    assert.ok(relists <= 1, `${relists} relists`);
    controller.abort();
  });
});

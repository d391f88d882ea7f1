/** The state machine of pod workers, with a scripted syncer on virtual time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import { createSimPlatform, type SimPlatform } from '../../platform/sim/sim-platform.ts';
import type { RuntimePod } from '../container/runtime.ts';
import { createPodCache, emptyPodStatus, type PodCache } from '../container/pod-cache.ts';
import { createWorkQueue, type WorkQueue } from './work-queue.ts';
import { effectiveGracePeriod, createPodSyncStatus } from './pod-sync-status.ts';
import type { PodSyncer, PodWorkers, SyncPodOutcome } from './pod-syncer.ts';
import { createPodWorkers } from './pod-workers.ts';

interface Rig {
  readonly platform: SimPlatform;
  readonly workers: PodWorkers;
  readonly workQueue: WorkQueue;
  readonly cache: PodCache;
  readonly log: string[];
  /** The duration and the result of a sync. */
  sync: { takesMs: number; outcome: SyncPodOutcome; error?: Error };
  terminating: { takesMs: number; error?: Error };
}

function rig(): Rig {
  const platform = createSimPlatform();
  const cache = createPodCache();
  cache.updateTime(cache.beginObservation());
  cache.onWait((pod) => {
    const stamp = cache.beginObservation();
    queueMicrotask(() => cache.set(pod.uid, { status: emptyPodStatus(pod), stamp }));
  });
  const log: string[] = [];
  const note = (what: string): void => void log.push(`${platform.clock.monotonicMs()} ${what}`);
  const podSyncer: PodSyncer = {
    async syncPod({ pod, updateType, signal }) {
      note(`sync ${pod.metadata.name} ${updateType} ${pod.metadata.labels?.['v'] ?? ''}`.trim());
      await platform.clock.sleep(it.sync.takesMs, signal);
      if (it.sync.error !== undefined) throw it.sync.error;
      return it.sync.outcome;
    },
    async syncTerminatingPod({ pod, gracePeriodSeconds, signal }) {
      note(`terminating ${pod.metadata.name} ${gracePeriodSeconds}`);
      await platform.clock.sleep(it.terminating.takesMs, signal);
      if (it.terminating.error !== undefined) throw it.terminating.error;
      return { actedAt: cache.now() };
    },
    async syncTerminatingRuntimePod(runningPod) {
      note(`terminating runtime pod ${runningPod.name}`);
    },
    async syncTerminatedPod({ pod }) {
      note(`terminated ${pod.metadata.name}`);
    },
  };
  const workQueue = createWorkQueue(platform.clock);
  const workers = createPodWorkers(
    { platform, recorder: { event: () => undefined }, podSyncer, podCache: cache, workQueue },
    { resyncIntervalMs: 60_000, backOffPeriodMs: 10_000 },
  );
  const it: Rig = {
    platform,
    workers,
    workQueue,
    cache,
    log,
    sync: { takesMs: 100, outcome: { terminal: false } },
    terminating: { takesMs: 100 },
  };
  return it;
}

function pod(
  name: string,
  changes: { uid?: string; v?: string; metadata?: Pod['metadata']; phase?: string } = {},
): Pod {
  return {
    metadata: {
      name,
      namespace: 'default',
      uid: changes.uid ?? name,
      ...(changes.v === undefined ? {} : { labels: { v: changes.v } }),
      ...changes.metadata,
    },
    spec: { containers: [], terminationGracePeriodSeconds: 30 },
    ...(changes.phase === undefined ? {} : { status: { phase: changes.phase } }),
  };
}

const staticPod = (name: string, uid: string): Pod =>
  pod(name, { uid, metadata: { annotations: { 'kubernetes.io/config.source': 'file' } } });
const runningPod = (name: string): RuntimePod => ({
  uid: name,
  name,
  namespace: 'default',
  createdAtMs: 0,
  containers: [],
  sandboxes: [],
});
const deleting = (name: string, graceSeconds: number): Pod =>
  pod(name, { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: graceSeconds } });

describe('pod workers', () => {
  it('begin in the turn of the update', async () => {
    const { workers, log, platform } = rig();
    workers.updatePod({ pod: pod('a'), updateType: 'create' });
    await platform.clock.settle();
    assert.deepEqual(log, ['0 sync a create']);
  });

  it('keep only the newest of the updates during a sync', async () => {
    const { workers, log, platform } = rig();
    workers.updatePod({ pod: pod('a', { v: '1' }), updateType: 'create' });
    await platform.clock.advance(10);
    for (const v of ['2', '3', '4']) workers.updatePod({ pod: pod('a', { v }), updateType: 'update' });
    await platform.clock.advance(1_000);
    assert.deepEqual(log, ['0 sync a create 1', '100 sync a update 4']);
  });

  it('cancel a sync when the pod is to end, and nothing turns it back', async () => {
    const { workers, log, platform } = rig();
    workers.updatePod({ pod: pod('a'), updateType: 'create' });
    await platform.clock.advance(10);
    workers.updatePod({ pod: pod('a'), updateType: 'kill' });
    workers.updatePod({ pod: pod('a', { v: '9' }), updateType: 'update' });
    workers.updatePod({ pod: pod('a', { v: '9' }), updateType: 'sync' });
    await platform.clock.advance(1_000);
    assert.deepEqual(log, ['0 sync a create', '10 terminating a 30', '110 terminated a']);
    assert.equal(workers.isPodTerminationRequested('a'), true);
    assert.equal(workers.couldHaveRunningContainers('a'), false);
    assert.equal(workers.shouldPodBeFinished('a'), true);
  });

  it('restart the termination only when the grace period shrinks', async () => {
    const { workers, log, platform } = rig();
    workers.updatePod({ pod: pod('a'), updateType: 'create' });
    await platform.clock.advance(200);
    workers.updatePod({ pod: deleting('a', 20), updateType: 'update' });
    await platform.clock.advance(10);
    workers.updatePod({ pod: deleting('a', 40), updateType: 'update' });
    await platform.clock.advance(10);
    workers.updatePod({ pod: deleting('a', 5), updateType: 'update' });
    await platform.clock.advance(1_000);
    assert.deepEqual(log, ['0 sync a create', '200 terminating a 20', '220 terminating a 5', '320 terminated a']);
  });

  it('advance when a sync reports that the pod is done', async () => {
    const { log, platform, workers, ...rest } = rig();
    rest.sync.outcome = { terminal: true };
    workers.updatePod({ pod: pod('a'), updateType: 'create' });
    await platform.clock.advance(1_000);
    assert.deepEqual(log, ['0 sync a create', '100 terminating a undefined', '200 terminated a']);
  });

  it('run only the last step for a pod that had ended before the kubelet started', async () => {
    const { log, platform, workers } = rig();
    workers.updatePod({ pod: pod('a', { phase: 'Succeeded' }), updateType: 'create' });
    assert.equal(workers.isPodKnownTerminated('a'), true);
    await platform.clock.advance(1_000);
    assert.deepEqual(log, ['0 terminated a']);
  });

  it('retry a failed sync after the back-off with jitter, sooner when only the network is missing', async () => {
    for (const [message, fromMs, toMs] of [
      ['broken', 10_000, 15_000],
      ['network is not ready: x', 1_000, 1_500],
    ] as const) {
      const made = rig();
      made.sync.error = new Error(message);
      made.workers.updatePod({ pod: pod('a'), updateType: 'create' });
      await made.platform.clock.advance(100);
      await made.platform.clock.advance(fromMs - 1);
      assert.deepEqual(made.workQueue.getWork(), [], message);
      await made.platform.clock.advance(toMs - fromMs + 1);
      assert.deepEqual(made.workQueue.getWork(), ['a'], message);
    }
  });

  it('sync again exactly when a back-off ends', async () => {
    const made = rig();
    made.sync.outcome = { terminal: false, retryAfterMs: 7_000 };
    made.workers.updatePod({ pod: pod('a'), updateType: 'create' });
    await made.platform.clock.advance(100 + 6_999);
    assert.deepEqual(made.workQueue.getWork(), []);
    await made.platform.clock.advance(1);
    assert.deepEqual(made.workQueue.getWork(), ['a']);
  });

  it('end a pod known to the runtime only, and prefer its spec when it is known', async () => {
    const { log, platform, workers } = rig();
    workers.updatePod({ runningPod: runningPod('ghost'), updateType: 'sync' });
    workers.updatePod({ runningPod: runningPod('ghost'), updateType: 'kill' });
    workers.updatePod({ pod: pod('a'), updateType: 'create' });
    await platform.clock.advance(200);
    workers.updatePod({ runningPod: runningPod('a'), updateType: 'kill' });
    await platform.clock.advance(1_000);
    assert.deepEqual(log, [
      '0 terminating runtime pod ghost',
      '0 sync a create',
      '200 terminating a 30',
      '300 terminated a',
    ]);
    assert.equal(workers.shouldPodBeFinished('ghost'), true);
  });

  it('forget a finished pod whose uid was created again, so that it can start', async () => {
    const { log, platform, workers } = rig();
    workers.updatePod({ pod: pod('a'), updateType: 'create' });
    await platform.clock.advance(200);
    workers.updatePod({ pod: pod('a'), updateType: 'kill' });
    workers.updatePod({ pod: pod('a', { v: 'again' }), updateType: 'create' });
    assert.equal(workers.syncKnownPods([pod('a')]).get('a')?.state, 'terminating');
    await platform.clock.advance(1_000);
    assert.equal(workers.syncKnownPods([pod('a')]).has('a'), false);
    workers.updatePod({ pod: pod('a', { v: 'again' }), updateType: 'create' });
    await platform.clock.advance(10);
    assert.equal(log.at(-1), '1200 sync a create again');
  });

  it('drive orphans to their end', async () => {
    const { log, platform, workers } = rig();
    workers.updatePod({ pod: pod('a'), updateType: 'create' });
    await platform.clock.advance(200);
    assert.equal(workers.syncKnownPods([]).get('a')?.orphan, true);
    await platform.clock.advance(1_000);
    assert.deepEqual(log.slice(1), ['200 terminating a 30', '300 terminated a']);
    assert.equal(workers.syncKnownPods([]).size, 0);
    assert.equal(workers.couldHaveRunningContainers('a'), false);
  });

  it('start static pods of one name one after another, in the order they came', async () => {
    const { log, platform, workers } = rig();
    for (const uid of ['u1', 'u2', 'u3']) workers.updatePod({ pod: staticPod('s', uid), updateType: 'create' });
    await platform.clock.advance(200);
    assert.deepEqual(log, ['0 sync s create']);
    workers.updatePod({ pod: staticPod('s', 'u2'), updateType: 'kill' });
    workers.updatePod({ pod: staticPod('s', 'u1'), updateType: 'kill' });
    await platform.clock.advance(250);
    assert.deepEqual(log, ['0 sync s create', '200 terminating s 30', '300 terminated s', '300 sync s create']);
    assert.equal(workers.isPodTerminationRequested('u3'), false);
    assert.equal(workers.shouldPodBeFinished('u2'), true, 'the one killed before it started needs no steps');
  });

  it('call back when the containers have stopped, and at once when there is nothing to stop', async () => {
    const { platform, workers } = rig();
    const done: number[] = [];
    const onTerminated = (): void => void done.push(platform.clock.monotonicMs());
    workers.updatePod({ pod: pod('a'), updateType: 'create' });
    await platform.clock.advance(200);
    workers.updatePod({ pod: pod('a'), updateType: 'kill', killPodOptions: { evict: true, onTerminated } });
    await platform.clock.advance(1_000);
    assert.deepEqual(done, [300]);
    assert.equal(workers.shouldPodContentBeRemoved('a'), true, 'evicted');
  });

  it('wait for an observation newer than their own last action', async () => {
    const made = rig();
    let asked = 0;
    made.cache.onWait(() => void asked++);
    made.sync.outcome = { terminal: false, actedAt: made.cache.now() };
    made.workers.updatePod({ pod: pod('a'), updateType: 'create' });
    await made.platform.clock.advance(200);
    assert.equal(asked, 0, 'the first sync takes what the first relist showed');
    made.workers.updatePod({ pod: pod('a'), updateType: 'sync' });
    await made.platform.clock.advance(1_000);
    assert.equal(made.log.length, 1);
    assert.equal(asked, 1);
    made.cache.set('a', {
      status: emptyPodStatus({ uid: 'a', name: 'a', namespace: 'default' }),
      stamp: made.cache.beginObservation(),
    });
    await made.platform.clock.settle();
    assert.equal(made.log.length, 2);
  });

  it('stop without waiting for long steps', async () => {
    const { platform, workers, log, ...rest } = rig();
    rest.terminating.takesMs = 1_000_000;
    workers.updatePod({ pod: pod('a'), updateType: 'create' });
    await platform.clock.advance(200);
    workers.updatePod({ pod: pod('a'), updateType: 'kill' });
    await platform.clock.advance(10);
    await platform.clock.drive(workers.stop());
    workers.updatePod({ pod: pod('b'), updateType: 'create' });
    await platform.clock.advance(100_000);
    assert.deepEqual(log, ['0 sync a create', '200 terminating a 30']);
  });
});

describe('effective grace period', () => {
  const cases: readonly {
    name: string;
    before: number;
    deletion?: number;
    override?: number;
    spec?: number;
    seconds: number;
    shortened: boolean;
  }[] = [
    { name: 'from the deletion', before: 0, deletion: 20, spec: 30, seconds: 20, shortened: false },
    { name: 'from the spec', before: 0, spec: 30, seconds: 30, shortened: false },
    { name: 'at least a second', before: 0, spec: 0, seconds: 1, shortened: false },
    { name: 'shrinks', before: 20, deletion: 5, seconds: 5, shortened: true },
    { name: 'never grows', before: 5, deletion: 20, override: 60, seconds: 5, shortened: false },
    { name: 'by an eviction', before: 0, override: 3, spec: 30, seconds: 3, shortened: false },
  ];
  for (const { name, before, deletion, override, spec, seconds, shortened } of cases) {
    it(name, () => {
      const status = createPodSyncStatus({ uid: 'a', fullName: 'a_default' });
      status.gracePeriod = before;
      const given: Pod = {
        metadata: deletion === undefined ? {} : { deletionGracePeriodSeconds: deletion },
        spec: { containers: [], ...(spec === undefined ? {} : { terminationGracePeriodSeconds: spec }) },
      };
      const options = override === undefined ? {} : { gracePeriodSecondsOverride: override };
      assert.deepEqual(effectiveGracePeriod(status, given, options), { seconds, shortened });
    });
  }
});

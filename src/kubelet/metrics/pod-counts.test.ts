import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { createMemoryMetrics } from '../../platform/sim/metrics.ts';
import { createKubeletFixture, type KubeletFixture } from '../fixtures/kubelet-fixture.ts';
import { createPodWorkCounts, exposePodCounts } from './pod-counts.ts';

let running: KubeletFixture | undefined;

afterEach(async () => {
  await running?.stop();
  running = undefined;
});

test('a kubelet reports the pods it should run, its active pods, and its running ones', async () => {
  const fixture = (running = createKubeletFixture());
  await fixture.start();
  const { clock, metrics } = fixture.platform;
  fixture.addPod('web', {
    spec: { containers: [{ name: 'app', image: 'image' }], ephemeralContainers: [{ name: 'debug', image: 'image' }] },
  });
  fixture.addPod('job', { spec: { restartPolicy: 'Never', containers: [{ name: 'once', image: 'image' }] } });
  await clock.runUntil(
    () => fixture.summary('web') === 'Running true' && fixture.summary('job') === 'Running true',
    10_000,
  );
  await metrics.expose();
  const value = (name: string, labels = {}): number | undefined => metrics.value(`kubelet_${name}`, labels);
  for (const name of ['desired_pods', 'active_pods']) {
    assert.equal(value(name, { static: '' }), 2, name);
    assert.equal(value(name, { static: 'true' }), 0, name);
  }
  assert.equal(value('mirror_pods'), 0);
  assert.equal(value('managed_ephemeral_containers'), 1);
  assert.ok((value('pleg_relist_duration_seconds') ?? 0) > 0);
  const lastSeen = value('pleg_last_seen_seconds') ?? 0;
  assert.ok(Number.isInteger(lastSeen) && Math.abs(lastSeen * 1000 - clock.nowMs()) <= 10_000, String(lastSeen));
});

test('a stopped kubelet is no longer read', async () => {
  const fixture = createKubeletFixture();
  await fixture.start();
  const { clock, metrics } = fixture.platform;
  fixture.addPod('web');
  await clock.runUntil(() => fixture.summary('web') === 'Running true', 10_000);
  await metrics.expose();
  const work = { lifecycle: 'sync', config: 'desired', static: '' };
  assert.notEqual(metrics.value('kubelet_working_pods', work), undefined);
  await fixture.stop();
  fixture.addPod('later');
  // The metrics of the next kubelet stay.
  metrics.gauge({ name: 'kubelet_working_pods', help: '', labels: Object.keys(work) }).set(7, work);
  await metrics.expose();
  assert.equal(metrics.value('kubelet_desired_pods', { static: '' }), 1);
  assert.equal(metrics.value('kubelet_working_pods', work), 7);
});

test('a kubelet that stops during its start is never read', async () => {
  const metrics = createMemoryMetrics();
  const asked: string[] = [];
  const source = (name: string) => () => {
    asked.push(name);
    return [];
  };
  const stopped = AbortSignal.abort();
  exposePodCounts(
    metrics,
    { desired: source('desired'), active: source('active'), mirrors: source('mirrors') },
    stopped,
  );
  createPodWorkCounts(metrics).start(stopped);
  await metrics.expose();
  const work = { lifecycle: 'sync', config: 'desired', static: '' };
  assert.deepEqual([asked, metrics.value('kubelet_working_pods', work)], [[], undefined]);
});

test('workers are labelled by lifecycle, desired state and source', async () => {
  const metrics = createMemoryMetrics();
  const counts = createPodWorkCounts(metrics);
  counts.start(new AbortController().signal);
  const worker = { state: 'sync', orphan: false, hasConfig: true, isStatic: false } as const;
  counts.note({
    workers: [
      worker,
      { ...worker, isStatic: true },
      { ...worker, state: 'terminating', orphan: true },
      { ...worker, state: 'terminating', orphan: true, hasConfig: false },
    ],
    unseen: 2,
    restarted: [{ metadata: { name: 'again', uid: 'u' } }],
  });
  await metrics.expose();
  const working = (lifecycle: string, config: string, fixed: string): number | undefined =>
    metrics.value('kubelet_working_pods', { lifecycle, config, static: fixed });
  assert.equal(working('sync', 'desired', ''), 2);
  assert.equal(working('sync', 'desired', 'true'), 1);
  assert.equal(working('terminating', 'orphan', ''), 1);
  assert.equal(working('terminating', 'runtime_only', 'unknown'), 3);
  assert.equal(working('terminated', 'desired', ''), 0);
  assert.equal(metrics.value('kubelet_orphaned_runtime_pods_total'), 2);
  assert.equal(metrics.value('kubelet_restarted_pods_total', { static: '' }), 1);
});

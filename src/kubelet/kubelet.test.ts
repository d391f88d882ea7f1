/** Scenarios of the whole core over a scripted runtime, on virtual time. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { Leases, Nodes, Pods } from '../api/gen/resources.ts';
import { createKubeletFixture, type KubeletFixture } from './fixtures/kubelet-fixture.ts';

const running: KubeletFixture[] = [];

async function started(...options: Parameters<typeof createKubeletFixture>): Promise<KubeletFixture> {
  const fixture = createKubeletFixture(...options);
  running.push(fixture);
  await fixture.start();
  return fixture;
}

afterEach(async () => {
  for (const fixture of running.splice(0)) await fixture.stop();
});

describe('kubelet', () => {
  it('registers a node that is Ready at once, with its lease', async () => {
    const { cluster } = await started();
    const node = cluster.get(Nodes, { name: 'node-1' });
    const ready = node?.status?.conditions?.find(({ type }) => type === 'Ready');
    assert.equal(ready?.status, 'True');
    assert.equal(ready?.reason, 'KubeletReady');
    assert.equal(ready?.message, 'kubelet is posting ready status');
    assert.deepEqual(node?.status?.addresses, [
      { address: '10.0.0.1', type: 'InternalIP' },
      { address: 'node-1', type: 'Hostname' },
    ]);
    assert.equal(node?.metadata.labels?.['kubernetes.io/hostname'], 'node-1');
    assert.equal(cluster.get(Leases, { namespace: 'kube-node-lease', name: 'node-1' })?.spec?.holderIdentity, 'node-1');
  });

  it('logs its version and reports its start in an event', async () => {
    const { events, platform } = await started();
    assert.deepEqual(
      events.filter((event) => event.includes('Starting')),
      ['Normal Starting node-1: Starting kubelet.'],
    );
    assert.equal(platform.log.entries.filter(({ message }) => message === 'Kubelet version').length, 1);
  });

  it('brings a pod to Ready without waiting for any ticker', async () => {
    const fixture = await started();
    const { clock } = fixture.platform;
    fixture.addPod('web');
    const sinceMs = clock.monotonicMs();
    await clock.runUntil(() => fixture.summary('web') === 'Running true', 10_000);
    assert.equal(clock.monotonicMs() - sinceMs, 40, 'only the start of the container takes time');
    const status = fixture.pod('web')?.status;
    assert.equal(status?.podIP, '10.42.0.7');
    assert.equal(status?.hostIP, '10.0.0.1');
    assert.deepEqual(
      status?.conditions?.map(({ type, status: value }) => `${type}=${value}`),
      ['PodReadyToStartContainers=True', 'Initialized=True', 'Ready=True', 'ContainersReady=True', 'PodScheduled=True'],
    );
    assert.equal(status?.containerStatuses?.[0]?.started, true);
    assert.match(status?.containerStatuses?.[0]?.containerID ?? '', /^containerd:\/\/c\d+$/);
    assert.equal(status?.observedGeneration, 1);
  });

  it('ends the containers of a pod that became a mirror without a static pod', async () => {
    const fixture = await started();
    const { clock } = fixture.platform;
    fixture.addPod('web');
    await clock.runUntil(() => fixture.summary('web') === 'Running true', 10_000);
    const annotations = { 'kubernetes.io/config.mirror': 'x' };
    const key = { namespace: 'default', name: 'web' };
    await fixture.cluster.client.resource(Pods).patch(key, { type: 'merge', patch: { metadata: { annotations } } });
    await clock.runUntil(() => fixture.runtime.running().length === 0, 60_000);
    await clock.runUntil(() => fixture.pod('web') === undefined, 60_000);
  });

  it('deletes a pod from the API as soon as its containers have stopped', async () => {
    const fixture = await started();
    const { clock } = fixture.platform;
    fixture.runtime.scripts.set('app', { stopMs: 700 });
    fixture.addPod('web');
    await clock.runUntil(() => fixture.summary('web') === 'Running true', 10_000);
    const sinceMs = clock.monotonicMs();
    await fixture.cluster.client.resource(Pods).delete({ namespace: 'default', name: 'web' });
    await clock.runUntil(() => fixture.pod('web') === undefined, 60_000);
    assert.equal(clock.monotonicMs() - sinceMs, 700);
    assert.deepEqual(
      fixture.runtime.calls.filter((call) => call.startsWith('kill')),
      ['kill web 30'],
    );
    assert.deepEqual(fixture.runtime.running(), []);
  });

  it('shortens the grace period while a pod ends, and never lengthens it', async () => {
    const fixture = await started();
    const { clock } = fixture.platform;
    fixture.runtime.scripts.set('app', { stopMs: 60_000 });
    fixture.addPod('web');
    await clock.runUntil(() => fixture.summary('web') === 'Running true', 10_000);
    const pods = fixture.cluster.client.resource(Pods);
    await pods.delete({ namespace: 'default', name: 'web' }, { gracePeriodSeconds: 20 });
    await clock.advance(1_000);
    await pods.delete({ namespace: 'default', name: 'web' }, { gracePeriodSeconds: 3 });
    await clock.advance(1_000);
    await pods.delete({ namespace: 'default', name: 'web' }, { gracePeriodSeconds: 50 });
    await clock.runUntil(() => fixture.pod('web') === undefined, 60_000);
    assert.deepEqual(
      fixture.runtime.calls.filter((call) => call.startsWith('kill')),
      ['kill web 20', 'kill web 3'],
    );
  });

  it('runs init containers one by one and reports that meanwhile', async () => {
    const fixture = await started();
    const { clock } = fixture.platform;
    for (const name of ['one', 'two']) fixture.runtime.scripts.set(name, { exitAfterMs: 500 });
    fixture.addPod('web', { spec: { initContainers: [{ name: 'one' }, { name: 'two' }] } });
    await clock.advance(300);
    const status = fixture.pod('web')?.status;
    assert.equal(status?.phase, 'Pending');
    assert.equal(status?.containerStatuses?.[0]?.state?.waiting?.reason, 'PodInitializing');
    const initialized = status?.conditions?.find(({ type }) => type === 'Initialized');
    assert.equal(initialized?.reason, 'ContainersNotInitialized');
    assert.equal(initialized?.message, 'containers with incomplete status: [one two]');
    await clock.runUntil(() => fixture.summary('web') === 'Running true', 10_000);
    assert.deepEqual(
      fixture.runtime.calls.filter((call) => call.startsWith('start')),
      ['start web/one', 'start web/two', 'start web/app'],
    );
  });

  it('restarts a crashing container when its back-off ends, and reports CrashLoopBackOff meanwhile', async () => {
    const fixture = await started();
    const { clock } = fixture.platform;
    fixture.runtime.scripts.set('app', { exitAfterMs: 100, exitCode: 3 });
    fixture.addPod('web');
    await clock.advance(2_000);
    const container = fixture.pod('web')?.status?.containerStatuses?.[0];
    assert.equal(container?.state?.waiting?.reason, 'CrashLoopBackOff');
    assert.equal(container?.lastState?.terminated?.exitCode, 3);
    assert.equal(container?.restartCount, 1);
    assert.equal(fixture.pod('web')?.status?.phase, 'Running');
    assert.equal(fixture.summary('web'), 'Running false');
    const starts = (): number => fixture.runtime.calls.filter((call) => call.startsWith('start')).length;
    assert.equal(starts(), 2);
    await clock.advance(8_330);
    assert.equal(starts(), 3, 'the third start comes right when the back-off ends');
  });

  it('ends a pod whose containers have completed', async () => {
    const fixture = await started();
    fixture.runtime.scripts.set('app', { exitAfterMs: 100, exitCode: 0 });
    fixture.addPod('job', { spec: { restartPolicy: 'Never' } });
    await fixture.platform.clock.advance(200);
    const status = fixture.pod('job')?.status;
    assert.equal(status?.phase, 'Succeeded');
    assert.equal(status?.containerStatuses?.[0]?.state?.terminated?.reason, 'Completed');
    assert.equal(status?.conditions?.find(({ type }) => type === 'Ready')?.reason, 'PodCompleted');
    await fixture.cluster.client.resource(Pods).delete({ namespace: 'default', name: 'job' });
    await fixture.platform.clock.settle();
    assert.equal(fixture.pod('job'), undefined, 'a finished pod leaves the API in the turn its deletion is seen');
  });

  it('finds running containers after a restart and restarts none', async () => {
    const before = await started();
    before.addPod('web');
    await before.platform.clock.runUntil(() => before.summary('web') === 'Running true', 10_000);
    running.length = 0;
    await before.stop();
    const calls = before.runtime.calls.length;
    const after = await started({ beside: before });
    await after.platform.clock.advance(120_000);
    assert.deepEqual(
      after.runtime.calls.slice(calls).filter((call) => !call.startsWith('sync')),
      [],
    );
    assert.deepEqual(after.runtime.running(), ['web/app']);
    assert.equal(after.summary('web'), 'Running true');
  });

  it('kills containers of unknown pods, but only once all sources are ready', async () => {
    const fixture = createKubeletFixture();
    running.push(fixture);
    fixture.runtime.plant({
      metadata: { name: 'ghost', namespace: 'default', uid: 'ghost' },
      spec: { containers: [{ name: 'app' }] },
    });
    const listed = Promise.withResolvers<void>();
    fixture.cluster.synced = listed.promise;
    await fixture.start();
    await fixture.platform.clock.advance(60_000);
    assert.deepEqual(fixture.runtime.running(), ['ghost/app']);
    listed.resolve();
    await fixture.platform.clock.advance(1);
    assert.deepEqual(fixture.runtime.running(), []);
    assert.deepEqual(
      fixture.runtime.calls.filter((call) => call.startsWith('kill')),
      ['kill ghost 1'],
    );
  });

  it('refuses a pod that does not fit', async () => {
    const fixture = await started();
    fixture.addPod('big', { spec: { containers: [{ name: 'app', resources: { requests: { cpu: '1000' } } }] } });
    await fixture.platform.clock.advance(20_000);
    const status = fixture.pod('big')?.status;
    assert.equal(status?.phase, 'Failed');
    assert.equal(status?.reason, 'OutOfcpu');
    assert.match(
      status?.message ?? '',
      /^Pod was rejected: Node didn't have enough resource: cpu, requested: 1000000, used: 0, capacity: \d+$/,
    );
    assert.deepEqual(fixture.runtime.calls, []);
  });

  it('waits for the network and reports that', async () => {
    const fixture = createKubeletFixture();
    running.push(fixture);
    fixture.runtime.networkReady = false;
    await fixture.start();
    fixture.addPod('web');
    await fixture.platform.clock.advance(500);
    assert.match(
      fixture.events.find((event) => event.includes('NetworkNotReady')) ?? '',
      /^Warning NetworkNotReady web: network is not ready: container runtime network not ready: NetworkReady=false/,
    );
    fixture.runtime.networkReady = true;
    await fixture.platform.clock.runUntil(() => fixture.summary('web') === 'Running true', 10_000);
  });

  for (const phase of ['Failed', 'Succeeded'])
    it(`keeps a phase ${phase} that another client wrote, and ends the containers`, async () => {
      const fixture = await started();
      const pod = fixture.addPod('web');
      await fixture.platform.clock.runUntil(() => fixture.summary('web') === 'Running true', 10_000);
      const phases = new Set<string | undefined>();
      const now = fixture.pod('web')!;
      fixture.cluster.put(Pods, { ...now, status: { ...now.status, phase, reason: 'Ended', message: 'by hand' } });
      for (let second = 0; second < 60; second++) {
        await fixture.platform.clock.advance(1000);
        phases.add(fixture.pod('web')?.status?.phase);
      }
      assert.deepEqual([...phases], [phase]);
      assert.deepEqual(fixture.runtime.running(), []);
      const { status } = fixture.pod('web')!;
      assert.deepEqual([status?.reason, status?.message], ['Ended', 'by hand']);
      assert.notEqual(status?.containerStatuses?.[0]?.state?.terminated, undefined);
      assert.equal(status?.conditions?.find(({ type }) => type === 'Ready')?.status, 'False');
      assert.equal(pod.metadata.uid, fixture.pod('web')?.metadata.uid);
    });

  it('ends a pod at its active deadline', async () => {
    const fixture = await started();
    fixture.addPod('web', { spec: { activeDeadlineSeconds: 5 } });
    await fixture.platform.clock.advance(5_500);
    assert.equal(fixture.pod('web')?.status?.phase, 'Failed');
    assert.equal(fixture.pod('web')?.status?.reason, 'DeadlineExceeded');
    assert.deepEqual(fixture.runtime.running(), []);
  });
});

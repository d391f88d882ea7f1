/** The core when something around it fails, on virtual time. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { Nodes, Pods } from '../api/gen/resources.ts';
import { serviceUnavailable } from '../api/status-error.ts';
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

describe('kubelet under faults', () => {
  it('notices an exit by relisting when the runtime has no event stream', async () => {
    const fixture = createKubeletFixture();
    running.push(fixture);
    fixture.runtime.eventsWork = false;
    await fixture.start();
    fixture.addPod('web');
    await fixture.platform.clock.runUntil(() => fixture.summary('web') === 'Running true', 10_000);
    fixture.runtime.exit(fixture.pod('web')?.metadata.uid ?? '', 'app', 1);
    await fixture.platform.clock.advance(1_500);
    assert.equal(fixture.pod('web')?.status?.containerStatuses?.[0]?.restartCount, 1);
  });

  it('stops at once while the API server is silent, and reports no failure that is the stop itself', async () => {
    const fixture = createKubeletFixture();
    await fixture.start();
    const silence = Promise.withResolvers<never>();
    silence.promise.catch(() => undefined);
    fixture.cluster.silence = silence.promise;
    fixture.addPod('web');
    fixture.addPod('private', { spec: { imagePullSecrets: [{ name: 'none' }] } });
    await fixture.platform.clock.advance(400_000);
    const stopping = fixture.stop();
    silence.reject(new Error('keelson is stopping'));
    await stopping;
    const logged = fixture.platform.log.entries.filter(({ fields }) => /is stopping/.test(String(fields['err'])));
    assert.deepEqual(logged, []);
    assert.deepEqual(
      fixture.events.filter((event) => event.startsWith('Warning')),
      [],
    );
  });

  it('retries a status the API refused', async () => {
    const fixture = await started();
    fixture.cluster.failures.set('patch pods/status', serviceUnavailable('down'));
    fixture.addPod('web');
    await fixture.platform.clock.advance(5_000);
    assert.equal(fixture.summary('web'), 'Pending false');
    fixture.cluster.failures.clear();
    await fixture.platform.clock.advance(10_000);
    assert.equal(fixture.summary('web'), 'Running true');
  });

  it('retries a deletion the API refused', async () => {
    const fixture = await started();
    fixture.addPod('web');
    await fixture.platform.clock.advance(1_000);
    fixture.cluster.put(Pods, {
      ...fixture.pod('web')!,
      metadata: {
        ...fixture.pod('web')!.metadata,
        deletionTimestamp: '2026-01-01T00:00:30Z',
        deletionGracePeriodSeconds: 5,
      },
    });
    fixture.cluster.failures.set('delete pods', serviceUnavailable('down'));
    await fixture.platform.clock.advance(5_000);
    assert.equal(fixture.pod('web')?.status?.phase, 'Succeeded', 'stopped on request with exit code 0');
    fixture.cluster.failures.clear();
    await fixture.platform.clock.advance(10_000);
    assert.equal(fixture.pod('web'), undefined);
  });

  it('reports that a pod could not be stopped, and retries', async () => {
    const fixture = await started();
    fixture.addPod('web');
    await fixture.platform.clock.advance(1_000);
    fixture.runtime.failures.set('killPod', new Error('no answer'));
    await fixture.cluster.client.resource(Pods).delete({ namespace: 'default', name: 'web' });
    await fixture.platform.clock.advance(1_000);
    assert.ok(fixture.events.includes('Warning FailedKillPod web: error killing pod: no answer'));
    fixture.runtime.failures.clear();
    await fixture.platform.clock.advance(20_000);
    assert.equal(fixture.pod('web'), undefined);
  });

  it('reports that the status could not be determined', async () => {
    const fixture = await started();
    fixture.addPod('web');
    await fixture.platform.clock.advance(10);
    fixture.runtime.failures.set('getPodStatus', new Error('no answer'));
    const pod = fixture.pod('web')!;
    fixture.cluster.put(Pods, { ...pod, metadata: { ...pod.metadata, labels: { a: 'b' } } });
    await fixture.platform.clock.advance(1_000);
    const wanted = 'Warning FailedSync web: error determining status: no answer';
    assert.ok(fixture.events.includes(wanted), fixture.events.join('\n'));
    fixture.runtime.failures.clear();
    await fixture.platform.clock.advance(20_000);
    assert.equal(fixture.summary('web'), 'Running true');
  });

  it('reports NotReady while the runtime is down, pauses, and recovers', async () => {
    const fixture = await started();
    const ready = (): string | undefined =>
      fixture.cluster.get(Nodes, { name: 'node-1' })?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
    for (const call of ['status', 'getPods', 'getPodStatus']) fixture.runtime.failures.set(call, new Error('gone'));
    await fixture.platform.clock.advance(45_000);
    assert.equal(ready(), 'False');
    fixture.addPod('web');
    await fixture.platform.clock.advance(1_000);
    assert.deepEqual(fixture.runtime.calls, []);
    fixture.runtime.failures.clear();
    await fixture.platform.clock.advance(15_000);
    assert.equal(ready(), 'True');
    assert.equal(fixture.summary('web'), 'Running true');
  });

  it('registers again when its node was deleted', async () => {
    const fixture = await started();
    fixture.cluster.drop(Nodes, { name: 'node-1' });
    await fixture.platform.clock.settle();
    assert.equal(fixture.cluster.get(Nodes, { name: 'node-1' })?.status?.conditions?.at(-1)?.reason, 'KubeletReady');
  });

  it('puts right a status that someone else overwrote', async () => {
    const fixture = await started();
    fixture.addPod('web');
    await fixture.platform.clock.advance(1_000);
    const pod = fixture.pod('web')!;
    fixture.cluster.put(Pods, { ...pod, status: { ...pod.status, phase: 'Pending', podIP: '1.2.3.4' } });
    await fixture.platform.clock.settle();
    assert.equal(fixture.summary('web'), 'Running true');
    assert.equal(fixture.pod('web')?.status?.podIP, '10.42.0.7');
  });

  it('leaves conditions of others alone and counts them for readiness gates', async () => {
    const fixture = await started();
    fixture.addPod('web', { spec: { readinessGates: [{ conditionType: 'example.com/gate' }] } });
    await fixture.platform.clock.advance(1_000);
    const ready = () => fixture.pod('web')?.status?.conditions?.find(({ type }) => type === 'Ready');
    assert.equal(ready()?.reason, 'ReadinessGatesNotReady');
    assert.equal(ready()?.message, 'corresponding condition of pod readiness gate "example.com/gate" does not exist.');
    const pod = fixture.pod('web')!;
    const conditions = [...(pod.status?.conditions ?? []), { type: 'example.com/gate', status: 'True' }];
    fixture.cluster.put(Pods, { ...pod, status: { ...pod.status, conditions } });
    await fixture.platform.clock.settle();
    assert.equal(ready()?.status, 'True');
    assert.ok(fixture.pod('web')?.status?.conditions?.some(({ type }) => type === 'example.com/gate'));
  });

  it('finishes after a restart deletions that were requested meanwhile', async () => {
    const before = await started();
    before.runtime.scripts.set('once', { exitAfterMs: 100 });
    before.addPod('job', { spec: { restartPolicy: 'Never', containers: [{ name: 'once' }] } });
    before.addPod('web');
    await before.platform.clock.advance(2_000);
    running.length = 0;
    await before.stop();
    const pods = before.cluster.client.resource(Pods);
    await pods.delete({ namespace: 'default', name: 'job' });
    await pods.delete({ namespace: 'default', name: 'web' });
    const after = await started({ beside: before });
    await after.platform.clock.advance(3_000);
    assert.equal(after.pod('job'), undefined);
    assert.equal(after.pod('web'), undefined);
    assert.deepEqual(after.runtime.running(), []);
  });

  it('kills containers of a pod that is missing in the API', async () => {
    const fixture = await started();
    fixture.addPod('web');
    await fixture.platform.clock.advance(1_000);
    fixture.cluster.drop(Pods, { namespace: 'default', name: 'web' });
    await fixture.platform.clock.settle();
    assert.deepEqual(fixture.runtime.calls.slice(-1), ['kill web 30']);
    await fixture.platform.clock.advance(1);
    assert.deepEqual(fixture.runtime.running(), []);
  });

  it('removes a refused pod when it is deleted', async () => {
    const fixture = await started();
    fixture.addPod('elsewhere', { spec: { nodeSelector: { disk: 'ssd' } } });
    await fixture.platform.clock.advance(3_000);
    assert.equal(fixture.pod('elsewhere')?.status?.reason, 'NodeAffinity');
    await fixture.cluster.client.resource(Pods).delete({ namespace: 'default', name: 'elsewhere' });
    await fixture.platform.clock.settle();
    assert.equal(fixture.pod('elsewhere'), undefined);
  });

  it('sends nothing while nothing happens', async () => {
    const fixture = await started();
    fixture.addPod('web');
    await fixture.platform.clock.advance(20_000);
    fixture.cluster.writes.length = 0;
    await fixture.platform.clock.advance(200_000);
    assert.deepEqual([...new Set(fixture.cluster.writes)], ['update leases node-1']);
  });
});

describe('kubelet and a slow start', () => {
  it('is Ready, and pods start, as soon as the network is there', async () => {
    const fixture = createKubeletFixture();
    running.push(fixture);
    fixture.runtime.networkReady = false;
    await fixture.start();
    fixture.addPod('web');
    const { clock } = fixture.platform;
    await clock.advance(1_100);
    fixture.runtime.networkReady = true;
    const sinceMs = clock.monotonicMs();
    await clock.runUntil(() => fixture.summary('web') === 'Running true', 10_000);
    assert.ok(clock.monotonicMs() - sinceMs <= 250 + 40, `${clock.monotonicMs() - sinceMs} ms`);
    const ready = fixture.cluster
      .get(Nodes, { name: 'node-1' })
      ?.status?.conditions?.find(({ type }) => type === 'Ready');
    assert.equal(ready?.status, 'True');
  });

  it('keeps the volumes of an ending pod, also when the API has deleted it', async () => {
    const fixture = await started();
    fixture.runtime.scripts.set('app', { stopMs: 2_000 });
    fixture.addPod('web');
    await fixture.platform.clock.advance(1_000);
    const uids = (): unknown => fixture.kubelet.core.podsWithRuntime().map(({ metadata }) => metadata.name);
    assert.deepEqual(uids(), ['web']);
    fixture.cluster.drop(Pods, { namespace: 'default', name: 'web' });
    await fixture.platform.clock.advance(1_000);
    assert.deepEqual(fixture.kubelet.host.pods(), []);
    assert.deepEqual(uids(), ['web']);
    await fixture.platform.clock.advance(2_000);
    assert.deepEqual(uids(), []);
  });
});

/** The core with the real runtime manager over a simulated runtime, on virtual time: that both sides of the contract mean the same. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { Pods } from '../api/gen/resources.ts';
import { image, type SimImage } from '../cri/sim/sim-image.ts';
import { createSimRuntime, type SimRuntime } from '../cri/sim/sim-runtime.ts';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { createContainerRuntime } from './runtime/container-runtime.ts';
import { createWorld, fixtureConfig, fixtureDeps } from './runtime/runtime-fixture.ts';
import { createKubeletFixture, type KubeletFixture } from './fixtures/kubelet-fixture.ts';

const running: KubeletFixture[] = [];

async function started(...images: SimImage[]): Promise<KubeletFixture & { readonly cri: SimRuntime }> {
  const platform = createSimPlatform();
  const cri = createSimRuntime(platform, { images, sandboxStart: '65ms' });
  const fixture = createKubeletFixture({
    platform,
    runtime: (core) =>
      createContainerRuntime(
        { ...fixtureDeps(cri, platform, createWorld()), probeResults: core.probeResults },
        fixtureConfig('/var'),
      ),
  });
  running.push(fixture);
  await fixture.start();
  return { ...fixture, cri };
}

const spec = (name: string) => ({ containers: [{ name: 'app', image: name }] });

afterEach(async () => {
  for (const fixture of running.splice(0)) await fixture.stop();
});

describe('kubelet with the runtime manager', () => {
  it('brings a pod to Ready and out of the API again', async () => {
    const fixture = await started(image('web:1'));
    const { clock } = fixture.platform;
    fixture.addPod('web', { spec: spec('web:1') });
    const sinceMs = clock.monotonicMs();
    await clock.runUntil(() => fixture.summary('web') === 'Running true', 10_000);
    assert.ok(clock.monotonicMs() - sinceMs < 200, `${clock.monotonicMs() - sinceMs} ms`);
    assert.match(fixture.pod('web')?.status?.podIP ?? '', /^10\.244\.0\.\d+$/);
    const calls = (method: string): number => fixture.cri.calls.get(method) ?? 0;
    assert.equal(calls('runPodSandbox'), 1);
    assert.equal(calls('startContainer'), 1);
    await fixture.cluster.client.resource(Pods).delete({ namespace: 'default', name: 'web' });
    await clock.runUntil(() => fixture.pod('web') === undefined, 60_000);
    assert.equal([...fixture.cri.containers.values()].filter(({ state }) => state === 'CONTAINER_RUNNING').length, 0);
  });

  it('inspects the pod once after a start: the events of the start cause no further inspection', async () => {
    const fixture = await started(image('web:1'));
    const { clock } = fixture.platform;
    fixture.addPod('web', { spec: spec('web:1') });
    await clock.runUntil(() => fixture.summary('web') === 'Running true', 10_000);
    await clock.advance(500);
    assert.equal(fixture.cri.calls.get('containerStatus'), 1);
  });

  it('restarts crashed containers, at once and then after their back-off', async () => {
    const fixture = await started(image('web:1'));
    const { clock } = fixture.platform;
    fixture.addPod('web', { spec: spec('web:1') });
    const restarts = (): number | undefined => fixture.pod('web')?.status?.containerStatuses?.[0]?.restartCount;
    const crash = async (): Promise<void> => {
      await clock.advance(1_000);
      const [container] = [...fixture.cri.containers].filter(([, { state }]) => state === 'CONTAINER_RUNNING');
      await clock.drive(fixture.cri.crash(container![0], 3));
    };
    await clock.runUntil(() => fixture.summary('web') === 'Running true', 10_000);
    await crash();
    await clock.runUntil(() => restarts() === 1 && fixture.summary('web') === 'Running true', 10_000);
    await crash();
    await clock.runUntil(
      () => fixture.pod('web')?.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff',
      10_000,
    );
    const sinceMs = clock.monotonicMs();
    await clock.runUntil(() => restarts() === 2 && fixture.summary('web') === 'Running true', 60_000);
    assert.ok(clock.monotonicMs() - sinceMs <= 10_500, `${clock.monotonicMs() - sinceMs} ms`);
  });

  it('reports why an image cannot be pulled', async () => {
    const fixture = await started(image('web:1', { present: false, pull: { error: 'denied', after: '1s' } }));
    fixture.addPod('web', { spec: spec('web:1') });
    await fixture.platform.clock.advance(2_000);
    assert.match(
      fixture.pod('web')?.status?.containerStatuses?.[0]?.state?.waiting?.reason ?? '',
      /^(ErrImagePull|ImagePullBackOff)$/,
    );
  });

  it('reports that the sandbox exists while an image is still pulled', async () => {
    const fixture = await started(image('web:1', { present: false, pull: { after: '60s' } }));
    fixture.addPod('web', { spec: spec('web:1') });
    const { clock } = fixture.platform;
    const sandbox = () => {
      const { conditions = [] } = fixture.pod('web')?.status ?? {};
      const { status, reason } = conditions.find(({ type }) => type === 'PodReadyToStartContainers') ?? {};
      return { status, reason };
    };
    await clock.advance(10_000);
    assert.deepEqual(sandbox(), { status: 'True', reason: 'PodSandboxReady' });
    assert.equal(fixture.summary('web'), 'Pending false');
    await clock.runUntil(() => fixture.summary('web') === 'Running true', 120_000);
    assert.deepEqual(sandbox(), { status: 'True', reason: 'PodSandboxReady' });
  });

  it('makes a new sandbox when the old one was lost', async () => {
    const fixture = await started(image('web:1'));
    const { clock } = fixture.platform;
    fixture.addPod('web', { spec: spec('web:1') });
    await clock.runUntil(() => fixture.summary('web') === 'Running true', 10_000);
    const [sandbox] = [...fixture.cri.sandboxes.keys()];
    await clock.drive(fixture.cri.loseSandbox(sandbox!));
    await clock.runUntil(
      () => fixture.cri.calls.get('runPodSandbox') === 2 && fixture.summary('web') === 'Running true',
      120_000,
    );
  });

  it('restarts a container whose liveness probe fails', async () => {
    const fixture = await started(image('web:1'));
    const livenessProbe = { tcpSocket: { port: 1 }, periodSeconds: 1, failureThreshold: 2 };
    fixture.addPod('web', { spec: { containers: [{ name: 'app', image: 'web:1', livenessProbe }] } });
    await fixture.platform.clock.runUntil(
      () => fixture.pod('web')?.status?.containerStatuses?.[0]?.restartCount === 1,
      60_000,
    );
    assert.ok(
      fixture.events.some((event) => event.startsWith('Warning Unhealthy web: Liveness probe failed: dial tcp')),
    );
  });
});

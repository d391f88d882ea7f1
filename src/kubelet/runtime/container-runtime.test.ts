import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { image } from '../../cri/sim/sim-image.ts';
import { createRuntimeFixture, podOf, runningNames, runningPod } from './runtime-fixture.ts';

const web = { name: 'web', image: 'web:1' };

describe('starting a pod', () => {
  it('runs sandbox and container with upstream events and no avoidable calls', async () => {
    const fixture = createRuntimeFixture({ images: [image('web:1')] });
    const pod = podOf({ containers: [web] });
    const result = await fixture.sync(pod);
    assert.equal(result.error, undefined);
    assert.deepEqual(result.steps, [
      { action: 'CreatePodSandbox', target: 'web_default(uid-1)' },
      { action: 'StartContainer', target: 'web' },
    ]);
    assert.deepEqual(fixture.takeEvents(), [
      'Pulled: Container image "web:1" already present on machine and can be accessed by the pod',
      'Created: Container created',
      'Started: Container started',
    ]);
    assert.deepEqual(Object.fromEntries(fixture.cri.calls), {
      listPodSandbox: 1,
      listContainers: 1,
      runPodSandbox: 1,
      podSandboxStatus: 1,
      imageStatus: 1,
      createContainer: 1,
      startContainer: 1,
    });
    const status = await fixture.status(pod);
    assert.deepEqual(status.ips, ['10.244.0.2']);
    assert.equal(status.containers[0]!.state, 'running');
    assert.deepEqual((await fixture.sync(pod)).steps, []);
  });

  it('refuses an invalid configuration, and starts once it is valid', async () => {
    const fixture = createRuntimeFixture();
    const container = { ...web, env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'settings', key: 'a' } } }] };
    const pod = podOf({ containers: [container] });
    const first = await fixture.sync(pod);
    assert.deepEqual(first.steps.at(-1), {
      action: 'StartContainer',
      target: 'web',
      reason: 'CreateContainerConfigError',
      message: 'configmaps "settings" not found',
    });
    fixture.world.configMaps.set('settings', { a: 'one' });
    assert.equal((await fixture.sync(pod)).error, undefined);
    assert.equal([...fixture.cri.containers.values()][0]!.environment['A'], 'one');
  });

  it('counts no restart of a container that was made and never started', async () => {
    const fixture = createRuntimeFixture({ images: [image('web:1')] });
    const { CriError } = await import('../../cri/cri-error.ts');
    const pod = podOf({ containers: [web] });
    fixture.cri.failCalls('startContainer', new CriError('Canceled', 'killed in between'));
    assert.equal((await fixture.sync(pod)).steps.at(-1)!.reason, 'RunContainerError');
    assert.equal((await fixture.status(pod)).containers[0]!.state, 'created');
    fixture.cri.failCalls('startContainer', undefined);
    await fixture.platform.clock.advance(60_000);
    assert.equal((await fixture.sync(pod)).error, undefined);
    const { containers } = await fixture.status(pod);
    assert.deepEqual(
      containers.map(({ state, restartCount }) => [state, restartCount]),
      [['running', 0]],
    );
  });

  it('records a sandbox that cannot be made', async () => {
    const fixture = createRuntimeFixture();
    const { CriError } = await import('../../cri/cri-error.ts');
    fixture.cri.failCalls('runPodSandbox', new CriError('Unknown', 'no network'));
    const result = await fixture.sync(podOf({ containers: [web] }));
    assert.equal(result.steps[0]!.reason, 'CreatePodSandboxError');
    assert.deepEqual(fixture.takeEvents(), [
      'FailedCreatePodSandBox: Failed to create pod sandbox: rpc error: code = Unknown desc = no network',
    ]);
  });
});

describe('images', () => {
  it('backs off after a failed pull and reports that', async () => {
    const fixture = createRuntimeFixture({
      images: [image('web:1', { present: false, pull: { error: 'denied', after: '1s' } })],
    });
    const pod = podOf({ containers: [web] });
    const first = await fixture.sync(pod);
    assert.equal(first.steps.at(-1)!.reason, 'ErrImagePull');
    assert.equal(first.retryAfterMs, 10_000);
    const second = await fixture.sync(pod);
    assert.deepEqual(second.steps.at(-1), {
      action: 'StartContainer',
      target: 'web',
      reason: 'ImagePullBackOff',
      message: 'Back-off pulling image "web:1": ErrImagePull: rpc error: code = Unknown desc = denied',
    });
    assert.equal(second.retryAfterMs, 10_000);
    fixture.cri.store.add(image('web:1', { present: false }));
    await fixture.platform.clock.advance(10_000);
    fixture.takeEvents();
    assert.equal((await fixture.sync(pod)).error, undefined);
    assert.deepEqual(fixture.takeEvents().slice(0, 2), [
      'Pulling: Pulling image "web:1"',
      'Pulled: Successfully pulled image "web:1" in 0s (0s including waiting). Image size: 10000000 bytes.',
    ]);
  });

  const refusals = [
    { about: 'Never and absent', container: { ...web, imagePullPolicy: 'Never' }, reason: 'ErrImageNeverPull' },
    { about: 'a bad name', container: { ...web, image: 'Web:1' }, reason: 'InvalidImageName' },
  ];
  for (const { about, container, reason } of refusals) {
    it(`${about}: ${reason}`, async () => {
      const fixture = createRuntimeFixture({ images: [image('web:1', { present: false })] });
      assert.equal((await fixture.sync(podOf({ containers: [container] }))).steps.at(-1)!.reason, reason);
    });
  }
});

describe('crashes', () => {
  it('restarts at once, then backs off doubling to the maximum', async () => {
    const fixture = createRuntimeFixture({
      images: [image('web:1', { exits: { code: 3, after: '1s' }, terminationMessage: 'bad luck' })],
    });
    const pod = podOf({ containers: [{ ...web, terminationMessagePath: '/dev/termination-log' }] });
    const waits: number[] = [];
    for (let round = 0; round < 9; round++) {
      await fixture.sync(pod);
      await fixture.platform.clock.advance(1000);
      const held = await fixture.sync(pod);
      if (held.retryAfterMs === undefined) {
        // The first restart waits for nothing.
        assert.equal(round, 0);
        continue;
      }
      assert.equal(held.steps.at(-1)!.reason, 'CrashLoopBackOff');
      waits.push(held.retryAfterMs);
      await fixture.platform.clock.advance(held.retryAfterMs);
    }
    assert.deepEqual(waits, [10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000, 300_000]);
    const last = (await fixture.status(pod)).containers[0]!;
    assert.equal(last.exitCode, 3);
    assert.equal(last.reason, 'Error');
    assert.equal(last.message, 'bad luck');
    assert.ok(
      fixture.takeEvents().includes('BackOff: Back-off restarting failed container web in pod web_default(uid-1)'),
    );
  });

  const covers = ['fifo', 'char', 'socket'] as const;
  for (const kind of covers)
    it(`reads its own termination message file where a volume mounts a ${kind} at the same path`, async () => {
      const fixture = createRuntimeFixture({
        images: [image('web:1', { exits: { code: 3, after: '1s' }, terminationMessage: 'bad luck' })],
      });
      const { files } = fixture.platform;
      await files.makeDir('/vol');
      files.makeSpecial('/vol/f', kind);
      const volume = { name: 'd', hostPath: '/vol/f', readOnly: false, selinuxRelabel: false, block: false };
      fixture.world.volumes.set('d', volume);
      const path = '/dev/termination-log';
      const pod = podOf({
        containers: [{ ...web, terminationMessagePath: path, volumeMounts: [{ name: 'd', mountPath: path }] }],
      });
      await fixture.sync(pod);
      await fixture.platform.clock.advance(1000);
      assert.equal((await fixture.status(pod)).containers[0]!.message, 'bad luck');
    });

  it('starts over after ten quiet minutes', async () => {
    const fixture = createRuntimeFixture({ images: [image('web:1')] });
    const pod = podOf({ containers: [web] });
    await fixture.sync(pod);
    const crash = async () => fixture.drive(fixture.cri.crash([...fixture.cri.containers.keys()].at(-1)!, 1));
    await crash();
    await fixture.sync(pod);
    await crash();
    assert.equal((await fixture.sync(pod)).retryAfterMs, 10_000);
    await fixture.platform.clock.advance(10_000);
    await fixture.sync(pod);
    await fixture.platform.clock.advance(601_000);
    await crash();
    assert.equal((await fixture.sync(pod)).error, undefined);
  });

  it('leaves a container that is done', async () => {
    const fixture = createRuntimeFixture({ images: [image('web:1', { exits: { code: 0, after: '1s' } })] });
    const pod = podOf({ containers: [web], restartPolicy: 'OnFailure' });
    await fixture.sync(pod);
    await fixture.platform.clock.advance(1000);
    const after = await fixture.sync(pod);
    assert.deepEqual(after.steps, [{ action: 'KillPodSandbox', target: 'web' }]);
    assert.equal((await fixture.status(pod)).sandboxes[0]!.ready, false);
    assert.deepEqual(
      (await fixture.sync(pod)).steps.filter((step) => step.action === 'CreatePodSandbox'),
      [],
    );
  });

  it('makes a new sandbox when it is lost', async () => {
    const fixture = createRuntimeFixture({ images: [image('web:1')] });
    const pod = podOf({ containers: [web] });
    await fixture.sync(pod);
    await fixture.drive(fixture.cri.loseSandbox([...fixture.cri.sandboxes.keys()][0]!));
    fixture.takeEvents();
    await fixture.sync(pod);
    assert.ok(fixture.takeEvents().includes('SandboxChanged: Pod sandbox changed, it will be killed and re-created.'));
    assert.deepEqual(
      [...fixture.cri.sandboxes.values()].map((sandbox) => [sandbox.config.metadata!.attempt, sandbox.ready]),
      [
        [0, false],
        [1, true],
      ],
    );
    assert.deepEqual(runningNames(fixture), ['web']);
  });
});

describe('init containers and sidecars', () => {
  it('run in order, each after the one before', async () => {
    const fixture = createRuntimeFixture({
      images: [image('init:1', { exits: { code: 0, after: '1s' } }), image('side:1'), image('web:1')],
    });
    const pod = podOf({
      containers: [web],
      initContainers: [
        { name: 'first', image: 'init:1' },
        { name: 'side', image: 'side:1', restartPolicy: 'Always' },
        { name: 'last', image: 'init:1' },
      ],
    });
    const seen: string[][] = [];
    for (let step = 0; step < 5; step++) {
      await fixture.sync(pod);
      seen.push(runningNames(fixture));
      await fixture.platform.clock.advance(1000);
    }
    assert.deepEqual(seen, [['first'], ['side'], ['side', 'last'], ['side', 'web'], ['side', 'web']]);
  });

  it('a failed one fails a pod that never restarts', async () => {
    const fixture = createRuntimeFixture({ images: [image('init:1', { exits: { code: 1, after: 1 } })] });
    const pod = podOf({
      containers: [web],
      initContainers: [{ name: 'first', image: 'init:1' }],
      restartPolicy: 'Never',
    });
    await fixture.sync(pod);
    await fixture.platform.clock.advance(10);
    assert.deepEqual((await fixture.sync(pod)).steps, [{ action: 'KillPodSandbox', target: 'web' }]);
  });

  it('sidecars end after the containers they serve, the last first', async () => {
    const fixture = createRuntimeFixture({
      images: [image('web:1', { onStop: { after: '3s' } }), image('side:1', { onStop: { after: '1s' } })],
    });
    const side = (name: string) => ({ name, image: 'side:1', restartPolicy: 'Always' });
    const pod = podOf({ containers: [web], initContainers: [side('a'), side('b')] });
    for (let step = 0; step < 3; step++) await fixture.sync(pod);
    const runtimePod = await runningPod(fixture, pod);
    const startMs = fixture.platform.clock.nowMs();
    await fixture.drive(fixture.runtime.killPod({ pod, runtimePod }));
    const ends = [...fixture.cri.containers.values()].map(
      (container) => `${container.finishedAtMs - startMs} ${container.init.config.metadata!.name}`,
    );
    assert.deepEqual(ends.toSorted(), ['3000 web', '4000 b', '5000 a']);
  });
});

describe('events', () => {
  it('name the pod of a container made after the last listing', async () => {
    const fixture = createRuntimeFixture({ images: [image('web:1', { exits: { code: 4, after: '1s' } })] });
    const controller = new AbortController();
    const seen: string[] = [];
    const reading = (async () => {
      for await (const event of fixture.runtime.events(controller.signal))
        seen.push(`${event.podUid} ${event.type} ${event.exitCode ?? ''}`.trim());
    })().catch(() => undefined);
    await fixture.sync(podOf({ containers: [web] }));
    await fixture.platform.clock.advance(1000);
    assert.deepEqual(seen, ['uid-1 created', 'uid-1 started', 'uid-1 created', 'uid-1 started', 'uid-1 stopped 4']);
    controller.abort();
    await reading;
  });
});

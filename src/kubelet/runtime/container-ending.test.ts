import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CriError } from '../../cri/cri-error.ts';
import { image } from '../../cri/sim/sim-image.ts';
import { createRuntimeFixture, podOf, runningNames, runningPod } from './runtime-fixture.ts';

const web = { name: 'web', image: 'web:1' };
const reasons = (events: string[]): string[] => events.map((event) => event.slice(0, event.indexOf(':')));

describe('ending', () => {
  it('runs preStop within the grace period, then stops with the remaining time', async () => {
    const calls: string[][] = [];
    const fixture = createRuntimeFixture({
      images: [
        image('web:1', {
          onStop: 'ignored',
          exec: ({ command }) => (calls.push([...command]), { exitCode: 0, after: '4s' }),
        }),
      ],
    });
    const pod = podOf({ containers: [{ ...web, lifecycle: { preStop: { exec: { command: ['drain'] } } } }] });
    await fixture.sync(pod);
    const startMs = fixture.platform.clock.nowMs();
    const result = await fixture.drive(
      fixture.runtime.killPod({ pod, runtimePod: await runningPod(fixture, pod), gracePeriodSeconds: 10 }),
    );
    assert.equal(result.error, undefined);
    assert.deepEqual(calls, [['drain']]);
    assert.equal(fixture.platform.clock.nowMs() - startMs, 10_000);
    assert.equal((await fixture.status(pod)).containers[0]!.exitCode, 137);
    assert.ok(fixture.takeEvents().includes('Killing: Stopping container web'));
  });

  it('can be hurried: a second kill runs no second hook and waits less', async () => {
    const calls: string[][] = [];
    const fixture = createRuntimeFixture({
      images: [
        image('web:1', {
          onStop: 'ignored',
          exec: ({ command }) => (calls.push([...command]), { exitCode: 0, after: '20s' }),
        }),
      ],
    });
    const pod = podOf({ containers: [{ ...web, lifecycle: { preStop: { exec: { command: ['drain'] } } } }] });
    await fixture.sync(pod);
    const runtimePod = await runningPod(fixture, pod);
    const startMs = fixture.platform.clock.nowMs();
    const first = new AbortController();
    const slow = fixture.runtime
      .killPod({ pod, runtimePod, gracePeriodSeconds: 60, signal: first.signal })
      .catch((error: unknown) => error);
    await fixture.platform.clock.advance(1000);
    first.abort(new Error('hurry'));
    assert.equal(((await fixture.drive(slow)) as Error).message, 'hurry');
    await fixture.drive(fixture.runtime.killPod({ pod, runtimePod, gracePeriodSeconds: 5 }));
    assert.deepEqual(calls, [['drain']]);
    assert.equal(fixture.platform.clock.nowMs() - startMs, 1000 + 5000 + 2000);
  });

  it('restores hooks and grace of an orphan from its labels', async () => {
    const calls: string[][] = [];
    const fixture = createRuntimeFixture({
      images: [
        image('web:1', { onStop: 'ignored', exec: ({ command }) => (calls.push([...command]), { exitCode: 0 }) }),
      ],
    });
    const pod = podOf({
      containers: [{ ...web, lifecycle: { preStop: { exec: { command: ['drain'] } } } }],
      terminationGracePeriodSeconds: 7,
    });
    await fixture.sync(pod);
    const startMs = fixture.platform.clock.nowMs();
    await fixture.drive(fixture.runtime.killPod({ runtimePod: await runningPod(fixture, pod) }));
    assert.deepEqual(calls, [['drain']]);
    assert.equal(fixture.platform.clock.nowMs() - startMs, 7000);
  });

  const hooks: { about: string; handler: object; fails: boolean }[] = [
    { about: 'an HTTP request', handler: { httpGet: { port: 'web', path: '/hook' } }, fails: false },
    { about: 'an HTTP request that is refused', handler: { httpGet: { port: 8080, path: '/no' } }, fails: true },
    { about: 'an HTTP request nobody hears', handler: { httpGet: { port: 81 } }, fails: true },
    { about: 'a TCP connection', handler: { tcpSocket: { port: 80 } }, fails: false },
    { about: 'a port of no name', handler: { httpGet: { port: 'none' } }, fails: true },
    { about: 'a pause', handler: { sleep: { seconds: 3 } }, fails: false },
  ];
  for (const { about, handler, fails } of hooks) {
    it(`runs a postStart hook that is ${about}`, async () => {
      const fixture = createRuntimeFixture({
        images: [image('web:1', { http: ({ path }) => ({ status: path === '/hook' ? 200 : 404, body: path }) })],
      });
      const pod = podOf({
        containers: [{ ...web, ports: [{ name: 'web', containerPort: 80 }], lifecycle: { postStart: handler } }],
      });
      assert.equal((await fixture.sync(pod)).steps.at(-1)!.reason, fails ? 'PostStartHookError' : undefined);
    });
  }

  it('leaves the event about a failed kill to the pod worker', async () => {
    const fixture = createRuntimeFixture({ images: [image('web:1')] });
    const pod = podOf({ containers: [web] });
    await fixture.sync(pod);
    const runtimePod = await runningPod(fixture, pod);
    fixture.takeEvents();
    fixture.cri.failCalls('stopContainer', new CriError('Unavailable', 'down'));
    const { error } = await fixture.drive(fixture.runtime.killPod({ pod, runtimePod }));
    assert.equal(error?.message, 'failed to "KillContainer" for "web" with KillContainerError: "down"');
    assert.deepEqual(reasons(fixture.takeEvents()), ['Killing']);
  });

  it('kills a container whose postStart fails', async () => {
    const fixture = createRuntimeFixture({ images: [image('web:1', { exec: () => ({ exitCode: 1 }) })] });
    const pod = podOf({ containers: [{ ...web, lifecycle: { postStart: { exec: { command: ['warm'] } } } }] });
    assert.equal((await fixture.sync(pod)).steps.at(-1)!.reason, 'PostStartHookError');
    assert.deepEqual(reasons(fixture.takeEvents()), ['Pulled', 'Created', 'Started', 'FailedPostStartHook', 'Killing']);
    assert.deepEqual(runningNames(fixture), []);
  });

  it("restarts a container its liveness probe failed, with the probe's grace", async () => {
    const fixture = createRuntimeFixture({ images: [image('web:1', { onStop: 'ignored' })] });
    const pod = podOf({ containers: [{ ...web, livenessProbe: { terminationGracePeriodSeconds: 5 } }] });
    await fixture.sync(pod);
    const [id] = [...fixture.cri.containers.keys()];
    fixture.world.probes.set(`liveness/${id}`, 'failure');
    fixture.takeEvents();
    const startMs = fixture.platform.clock.nowMs();
    await fixture.sync(pod);
    assert.equal(fixture.platform.clock.nowMs() - startMs, 5000);
    assert.equal(fixture.takeEvents()[0], 'Killing: Container web failed liveness probe, will be restarted');
    assert.deepEqual(runningNames(fixture), ['web']);
  });
});

describe('garbage collection', () => {
  it('keeps the newest dead container, and nothing of a deleted pod', async () => {
    const fixture = createRuntimeFixture({ images: [image('web:1')] });
    const pod = podOf({ containers: [web] });
    for (let round = 0; round < 4; round++) {
      await fixture.sync(pod);
      await fixture.drive(fixture.cri.crash([...fixture.cri.containers.keys()].at(-1)!, 1));
      await fixture.platform.clock.advance(400_000);
    }
    const policy = { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 };
    const options = { allSourcesReady: true, evictNonDeleted: false };
    await fixture.drive(fixture.runtime.garbageCollect(policy, options));
    assert.deepEqual(
      (await fixture.status(pod)).containers.map((container) => container.restartCount),
      [3],
    );
    const runtimePod = await runningPod(fixture, pod);
    await fixture.drive(fixture.runtime.killPod({ pod, runtimePod }));
    fixture.world.deleted.add('uid-1');
    await fixture.drive(fixture.runtime.garbageCollect(policy, options));
    assert.equal(fixture.cri.containers.size, 0);
    assert.equal(fixture.cri.sandboxes.size, 0);
    assert.equal(await fixture.platform.files.exists('/var/logs/pods/default_web_uid-1'), false);
  });
});

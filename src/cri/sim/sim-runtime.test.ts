import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { CriError } from '../cri-error.ts';
import { describeRuntime } from '../runtime-suite.ts';
import { durationMs, image, type SimUsageSpec } from './sim-image.ts';
import { createSimRuntime } from './sim-runtime.ts';

describeRuntime('the simulated runtime', async () => {
  const platform = createSimPlatform();
  const cri = createSimRuntime(platform, {
    images: [
      image('run:1', { logs: ['up'] }),
      image('deaf:1', { onStop: 'ignored', logs: ['up'] }),
      image('fail:1', { exits: { code: 3, after: 5 }, logs: ['hello'] }),
    ],
  });
  return {
    cri,
    logDirectory: '/logs',
    cgroupParent: '/test',
    running: { image: { image: 'run:1' } },
    stubborn: { image: { image: 'deaf:1' } },
    failing: { image: { image: 'fail:1' } },
    readText: (path) => platform.files.readText(path),
    drive: (work) => platform.clock.drive(work),
    pause: () => platform.clock.drive(platform.clock.sleep(50)),
    close: async () => undefined,
  };
});

describe('scenarios', () => {
  const start = async (spec: Parameters<typeof image>[1]) => {
    const platform = createSimPlatform();
    const cri = createSimRuntime(platform, { images: [image('app', spec)] });
    const { podSandboxId } = await platform.clock.drive(
      cri.runtime.runPodSandbox({ config: { metadata: { uid: 'u' }, logDirectory: '/logs' } }),
    );
    const launch = async (memoryLimitInBytes = 0) => {
      const { containerId } = await cri.runtime.createContainer({
        podSandboxId,
        config: {
          metadata: { name: 'app' },
          image: { image: 'app' },
          logPath: 'app.log',
          linux: { resources: { memoryLimitInBytes } },
        },
      });
      await platform.clock.drive(cri.runtime.startContainer({ containerId }));
      return containerId;
    };
    return { platform, cri, launch };
  };

  it('starts late, logs on time, answers by uptime', async () => {
    const { platform, cri, launch } = await start({
      start: '2s',
      logs: ['at once', { after: '1s', line: 'later', stream: 'stderr' }],
      http: ({ uptimeMs, path }) => ({ status: uptimeMs < 3000 ? 503 : 200, body: path }),
    });
    const before = platform.clock.nowMs();
    const id = await launch();
    assert.equal(platform.clock.nowMs() - before, 2000);
    const { ip } = [...cri.sandboxes.values()][0]!;
    const ask = () => cri.http(ip, { method: 'GET', path: '/ready', query: '', headers: {}, body: '', port: 80 });
    assert.deepEqual(ask(), { status: 503, body: '/ready' });
    await platform.clock.advance(3000);
    assert.deepEqual(ask(), { status: 200, body: '/ready' });
    assert.equal(
      await platform.files.readText('/logs/app.log'),
      '2026-01-01T00:00:02.000000000Z stdout F at once\n2026-01-01T00:00:03.000000000Z stderr F later\n',
    );
    await platform.clock.drive(cri.crash(id, 9, 'OOMKilled'));
    assert.equal(ask(), undefined);
  });

  it('crashes so often, then runs', async () => {
    const { platform, cri, launch } = await start({ crashes: { times: 2, code: 5, after: '1s' } });
    const ids = [];
    for (let round = 0; round < 3; round++) {
      ids.push(await launch());
      await platform.clock.advance(1000);
    }
    assert.deepEqual(
      ids.map((id) => cri.containers.get(id)!.state),
      ['CONTAINER_EXITED', 'CONTAINER_EXITED', 'CONTAINER_RUNNING'],
    );
  });

  it('runs a program', async () => {
    const { platform, cri, launch } = await start({
      async run({ sleep, log, stopped }) {
        while (!stopped.aborted) {
          log('tick');
          await sleep('1s');
        }
        return 42;
      },
    });
    const containerId = await launch();
    await platform.clock.advance(2500);
    await platform.clock.drive(cri.runtime.stopContainer({ containerId, timeoutSeconds: 30 }));
    assert.equal(cri.containers.get(containerId)!.exitCode, 42);
    assert.equal((await platform.files.readText('/logs/app.log')).split('\n').length - 1, 3);
  });

  it('fails calls on demand and breaks event streams', async () => {
    const { cri } = await start({});
    cri.failCalls('version', new CriError('Unavailable', 'down'));
    await assert.rejects(cri.runtime.version({}), { code: 'Unavailable' });
    cri.failCalls('version', undefined);
    await cri.runtime.version({});
    const next = cri.events(new AbortController().signal)[Symbol.asyncIterator]().next();
    cri.breakEvents();
    await assert.rejects(next, { code: 'Unavailable' });
  });

  it('reports its use in whole numbers', async () => {
    const usages: SimUsageSpec[] = [
      { cpu: '1u', memory: '64Mi' },
      { cpu: 1 / 3, memory: 1e6 / 3 },
      () => ({ cpu: 1 / 3, memory: 1e6 / 3 }),
    ];
    for (const usage of usages) {
      const { platform, cri, launch } = await start({ usage });
      const id = await launch();
      await platform.clock.drive(platform.clock.sleep(1001));
      const { stats } = await cri.runtime.containerStats({ containerId: id });
      const { cpu, memory } = stats!;
      const figures = [...Object.values(cpu!), ...Object.values(memory!)].map((each) =>
        typeof each === 'object' ? each.value : each,
      );
      assert.deepEqual(
        figures.filter((figure) => !Number.isInteger(figure)),
        [],
      );
    }
  });

  it('uses the resources of its image: steadily, in steps, or computed', async () => {
    const reading = async (usage: SimUsageSpec) => {
      const { platform, cri, launch } = await start({ usage });
      const id = await launch();
      await platform.clock.drive(platform.clock.sleep(10_000));
      const { stats } = await cri.runtime.containerStats({ containerId: id });
      return [
        stats?.cpu?.usageNanoCores?.value,
        stats?.cpu?.usageCoreNanoSeconds?.value,
        stats?.memory?.workingSetBytes?.value,
      ];
    };
    assert.deepEqual(await reading({}), [1e7, 1e8, 1e7]);
    assert.deepEqual(await reading({ cpu: '250m', memory: '64Mi' }), [25e7, 25e8, 64 * 2 ** 20]);
    assert.deepEqual(
      await reading([
        { after: '4s', cpu: 2 },
        { cpu: 1, memory: 5 },
      ]),
      [2e9, 16e9, 1e7],
    );
    assert.deepEqual(await reading(({ uptimeMs }) => ({ cpu: uptimeMs / 1000, memory: uptimeMs })), [10e9, 0, 10_000]);
  });

  it('is killed when it uses more memory than it may, also after the limit is lowered', async () => {
    const exitOf = async (usage: SimUsageSpec, memoryLimitInBytes: number, lowered?: number) => {
      const { platform, cri, launch } = await start({ usage });
      const id = await launch(memoryLimitInBytes);
      await platform.clock.drive(platform.clock.sleep(5000));
      if (lowered !== undefined)
        await cri.runtime.updateContainerResources({ containerId: id, linux: { memoryLimitInBytes: lowered } });
      await platform.clock.drive(platform.clock.sleep(1));
      const { exitCode, reason } = cri.containers.get(id)!;
      return [exitCode, reason];
    };
    assert.deepEqual(await exitOf({ memory: 100 }, 99), [137, 'OOMKilled']);
    assert.deepEqual(await exitOf({ memory: 100 }, 100), [0, '']);
    assert.deepEqual(await exitOf({ memory: 100 }, 0), [0, '']);
    assert.deepEqual(await exitOf([{ memory: 1 }, { after: '3s', memory: 200 }], 100), [137, 'OOMKilled']);
    assert.deepEqual(await exitOf([{ memory: 1 }, { after: '30s', memory: 200 }], 100), [0, '']);
    assert.deepEqual(await exitOf(({ uptimeMs }) => ({ memory: uptimeMs }), 2500), [137, 'OOMKilled']);
    assert.deepEqual(await exitOf({ memory: 100 }, 100, 50), [137, 'OOMKilled']);
  });

  it('refuses invalid behaviours where they are declared', () => {
    for (const spec of [
      { start: 'soon' },
      { exits: { code: 1, after: 'later' } },
      { logs: [{ after: '1x', line: '' }] },
      { onStop: { after: '-1s' } },
      { usage: { memory: 'much' } },
      { usage: [{ after: 'then' }] },
    ])
      assert.throws(() => image('app', spec), /^Error: image app: /, JSON.stringify(spec));
  });

  it('reads durations', () => {
    assert.deepEqual(['1m30s', '250ms', '1.5s', '2h'].map(durationMs), [90_000, 250, 1500, 7_200_000]);
    assert.throws(() => durationMs('soon'));
  });
});

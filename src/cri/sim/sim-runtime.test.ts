import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { CriError } from '../cri-error.ts';
import { describeRuntime } from '../runtime-suite.ts';
import { durationMs, image } from './sim-image.ts';
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
    const launch = async () => {
      const { containerId } = await cri.runtime.createContainer({
        podSandboxId,
        config: { metadata: { name: 'app' }, image: { image: 'app' }, logPath: 'app.log' },
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
    const ask = () => cri.http(ip, { method: 'GET', path: '/ready', headers: {}, port: 80 });
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

  it('reads durations', () => {
    assert.deepEqual(['1m30s', '250ms', '1.5s', '2h'].map(durationMs), [90_000, 250, 1500, 7_200_000]);
    assert.throws(() => durationMs('soon'));
  });
});

/** Two standalone schedulers with one API server: one leads, the other waits; both never act at the same time. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Nodes, Pods } from '../api/gen/resources.ts';
import type { ApiHandler } from '../api/transport.ts';
import { createStandaloneScheduler, type StandaloneScheduler } from '../cluster/alone/standalone-scheduler.ts';
import { createMemoryMetrics } from '../platform/sim/metrics.ts';
import { providerConfig } from '../scheduler/policy/read-policy.ts';
import { defaultSchedulerConfig, type SchedulerConfig } from '../scheduler/config/scheduler-config.ts';
import { startBareWorld } from './bare-world-fixture.ts';
import { createGate, type Gate } from './gate.ts';

const SCHEDULER = { name: 'system:kube-scheduler', groups: ['system:authenticated'] };

interface Instance {
  readonly scheduler: StandaloneScheduler;
  readonly gate: Gate;
  readonly stop: AbortController;
  readonly ended: Promise<'stopped' | 'leadership lost'>;
}

interface Scene {
  start(name: string, config?: SchedulerConfig): Instance;
  createPod(name: string, schedulerName?: string): Promise<void>;
  nodeOf(name: string): string | undefined;
  /** The instances that bound pods, in order. */
  readonly binders: string[];
  /** Lets time pass; `look` is called every half second. */
  pass(seconds: number, look?: () => void): Promise<void>;
}

async function scene(t: TestContext): Promise<Scene> {
  const running: Instance[] = [];
  const binders: string[] = [];
  const { clock, pace, platform, world, admin } = await startBareWorld(t, running);
  const allocatable = { cpu: '64', memory: '64Gi', pods: '110' };
  await pace.drive(
    admin.resource(Nodes).create({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, status: { allocatable } }),
  );
  return {
    binders,
    start(name, config = defaultSchedulerConfig()) {
      const noted: ApiHandler = (request) => {
        if (request.path.endsWith('/binding')) binders.push(name);
        return world.server.handler(request);
      };
      const gate = createGate({ clock, random: platform.random.fork(`gate/${name}`), server: () => noted });
      const stop = new AbortController();
      const own = { clock, random: platform.random.fork(name), log: platform.log, crypto: platform.crypto };
      const scheduler = createStandaloneScheduler(
        {
          platform: { ...own, metrics: createMemoryMetrics() },
          client: world.clientFor(SCHEDULER, name, gate),
          extenders: [],
        },
        {
          scheduler: config,
          hostName: 'host',
          identity: name,
          leaderElection: {
            leaderElect: config.profiles[0]?.schedulerName === 'default-scheduler',
            leaseDurationMs: 15_000,
            renewDeadlineMs: 10_000,
            retryPeriodMs: 2000,
            resourceName: 'kube-scheduler',
            resourceNamespace: 'kube-system',
          },
        },
      );
      const instance = { scheduler, gate, stop, ended: scheduler.run(stop.signal) };
      instance.ended.catch(() => undefined);
      running.push(instance);
      return instance;
    },
    // No kubelet reports the node as ready, so the pod tolerates its taint.
    async createPod(name, schedulerName = 'default-scheduler') {
      const spec = { schedulerName, tolerations: [{ operator: 'Exists' }], containers: [{ name: 'c', image: 'i' }] };
      const metadata = { name, namespace: 'default' };
      await pace.drive(admin.resource(Pods).create({ apiVersion: 'v1', kind: 'Pod', metadata, spec }));
    },
    nodeOf: (name) => world.server.objects.get(Pods, 'default', name)?.spec?.nodeName,
    async pass(seconds, look = () => undefined) {
      for (let half = 0; half < seconds * 2; half++) {
        await pace.advance(500);
        look();
      }
    },
  };
}

test('the leader is killed: the second takes over after the lease, and schedules', async (t) => {
  const { start, createPod, nodeOf, pass, binders } = await scene(t);
  const first = start('first');
  await pass(2);
  const second = start('second-instance');
  await pass(5);
  assert.deepEqual([first.scheduler.leads(), second.scheduler.leads()], [true, false]);
  await createPod('a');
  await pass(2);
  assert.equal(nodeOf('a'), 'n');
  first.gate.destroy(); // as kill -9: nothing of it reaches the server any more
  await createPod('b');
  await pass(10);
  assert.equal(second.scheduler.leads(), false, 'the lease still stands');
  assert.equal(nodeOf('b'), undefined);
  await pass(15);
  assert.equal(second.scheduler.leads(), true);
  assert.equal(nodeOf('b'), 'n');
  assert.deepEqual(binders, ['first', 'second-instance']);
});

test('a disconnected leader stops before another begins, and ends', async (t) => {
  const { start, createPod, pass, nodeOf } = await scene(t);
  const first = start('first');
  await pass(2);
  const second = start('second-instance');
  await pass(5);
  first.gate.close();
  let both = 0;
  await createPod('a');
  await pass(40, () => {
    if (first.scheduler.leads() && second.scheduler.leads()) both++;
  });
  assert.equal(both, 0, 'never two leaders');
  assert.equal(await first.ended, 'leadership lost');
  assert.equal(second.scheduler.leads(), true);
  first.gate.open();
  await pass(5);
  assert.equal(first.scheduler.leads(), false, 'a leader that lost does not come back by itself');
  assert.equal(nodeOf('a'), 'n');
});

test('a leader that stops gracefully hands over at once', async (t) => {
  const { start, pass } = await scene(t);
  const first = start('first');
  await pass(2);
  const second = start('second-instance');
  await pass(3);
  first.stop.abort(new Error('stopped'));
  await pass(6);
  assert.equal(await first.ended, 'stopped');
  assert.equal(second.scheduler.leads(), true);
});

test('schedulers with two names work side by side, each on its own pods', async (t) => {
  const { start, createPod, nodeOf, pass, binders } = await scene(t);
  start('first');
  const early = providerConfig('DefaultProvider', 'second');
  start('second-instance', early);
  await pass(3);
  await createPod('a');
  await createPod('b', 'second');
  await createPod('c', 'third');
  await pass(3);
  assert.deepEqual(['a', 'b', 'c'].map(nodeOf), ['n', 'n', undefined]);
  assert.deepEqual(binders.toSorted(), ['first', 'second-instance']);
});

test('health, metrics and explanations are served, the latter only by the leader', async (t) => {
  const { start, createPod, pass } = await scene(t);
  const first = start('first');
  await pass(2);
  const second = start('second-instance');
  await createPod('a', 'default-scheduler');
  await pass(3);
  const get = async ({ scheduler }: Instance, path: string): Promise<readonly [number, string]> => {
    const response = await scheduler.http({ method: 'GET', path } as Parameters<StandaloneScheduler['http']>[0]);
    assert.ok(response.kind === 'bytes');
    return [response.status, Buffer.concat(response.chunks).toString('utf8')];
  };
  assert.deepEqual(await get(first, '/healthz'), [200, 'ok']);
  assert.match((await get(first, '/metrics'))[1], /scheduler_schedule_attempts_total/);
  const [status, why] = await get(first, '/why/default/a');
  assert.deepEqual([status, (JSON.parse(why) as { state: string }).state], [200, 'Bound']);
  assert.equal((await get(first, '/why/default/none'))[0], 404);
  assert.equal((await get(second, '/why/default/a'))[0], 503);
  assert.equal((await get(second, '/nothing'))[0], 404);
});

/** Two standalone controller managers with one API server: one leads, the other waits; both never act at the same time. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Deployments, Nodes, Pods, ReplicaSets } from '../api/gen/resources.ts';
import type { ApiHandler, Principal } from '../api/transport.ts';
import { accountPrincipal } from '../apiserver/authn/bound-token-claims.ts';
import type { Client } from '../client/client.ts';
import { createStandaloneControllers, type StandaloneControllers } from '../cluster/alone/standalone-controllers.ts';
import { createMemoryMetrics } from '../platform/sim/metrics.ts';
import { startBareWorld } from './bare-world-fixture.ts';
import { createGate, type Gate } from './gate.ts';

const MANAGER: Principal = { name: 'system:kube-controller-manager', groups: ['system:authenticated'] };
const LEASE_MS = 15_000;
const RETRY_MS = 2000;
/** The maximum time between two reads of the lease by a candidate: its period with the full jitter. */
const LOOK_MS = RETRY_MS * 2.2;

interface Instance {
  readonly controllers: StandaloneControllers;
  readonly gate: Gate;
  readonly stop: AbortController;
  readonly ended: Promise<'stopped' | 'leadership lost'>;
}

/** A write that an instance tried, successful or not. */
interface Attempt {
  readonly by: string;
  readonly atMs: number;
}

interface Scene {
  start(name: string): Instance;
  deploy(name: string): Promise<void>;
  /** A node that never sends a heartbeat, so that the controllers have work in every round. */
  addSilentNode(name: string): Promise<void>;
  /** Writes except those of the election. */
  readonly attempts: Attempt[];
  counts(): { readonly sets: number; readonly pods: number };
  nowMs(): number;
  pass(seconds: number): Promise<void>;
}

async function scene(t: TestContext): Promise<Scene> {
  const running: Instance[] = [];
  const attempts: Attempt[] = [];
  const { clock, pace, platform, world, admin } = await startBareWorld(t, running);
  return {
    attempts,
    nowMs: () => clock.nowMs(),
    start(name) {
      const gate = createGate({
        clock,
        random: platform.random.fork(`gate/${name}`),
        server: () => (world.serverUp ? world.server.handler : undefined),
      });
      const handler: ApiHandler = (request) => {
        if (request.method !== 'GET' && !/\/(events|leases)/.test(request.path))
          attempts.push({ by: name, atMs: clock.nowMs() });
        return gate.handler(request);
      };
      const clientFor = (principal: Principal): Client => world.clientFor(principal, name, { ...gate, handler });
      const stop = new AbortController();
      const own = { clock, random: platform.random.fork(name), log: platform.log, crypto: platform.crypto };
      const controllers = createStandaloneControllers(
        {
          platform: { ...own, metrics: createMemoryMetrics() },
          client: clientFor(MANAGER),
          clientFor: (account) => clientFor(accountPrincipal('kube-system', account)),
        },
        {
          names: ['deployment-controller', 'replicaset-controller', 'node-lifecycle-controller'],
          controllers: {},
          leaderElection: {
            namespace: 'kube-system',
            name: 'kube-controller-manager',
            identity: name,
            leaseDurationMs: LEASE_MS,
            renewDeadlineMs: 10_000,
            retryPeriodMs: RETRY_MS,
          },
        },
      );
      const instance = { controllers, gate, stop, ended: controllers.run(stop.signal) };
      instance.ended.catch(() => undefined);
      running.push(instance);
      return instance;
    },
    async deploy(name) {
      const labels = { app: name };
      const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
      await pace.drive(
        admin.resource(Deployments).create({
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          metadata: { name, namespace: 'default' },
          spec: { replicas: 3, selector: { matchLabels: labels }, template },
        }),
      );
    },
    async addSilentNode(name) {
      await pace.drive(admin.resource(Nodes).create({ apiVersion: 'v1', kind: 'Node', metadata: { name } }));
    },
    counts: () => ({
      sets: world.server.objects.list(ReplicaSets).length,
      pods: world.server.objects.list(Pods).length,
    }),
    async pass(seconds) {
      for (let half = 0; half < seconds * 2; half++) await pace.advance(500);
    },
  };
}

test('the leader is killed: the second takes over within the lease, and nothing is created twice', async (t) => {
  const { start, deploy, pass, attempts, counts, nowMs } = await scene(t);
  const first = start('first');
  await pass(2);
  const second = start('second');
  await deploy('a');
  await pass(5);
  assert.deepEqual([first.controllers.leads(), second.controllers.leads()], [true, false]);
  assert.deepEqual([...new Set(attempts.map(({ by }) => by))], ['first'], 'the second only waits');
  assert.deepEqual(counts(), { sets: 1, pods: 3 });
  const killedMs = nowMs();
  first.gate.destroy(); // as kill -9: nothing of it reaches the server any more
  await deploy('b');
  await pass((LEASE_MS + 2 * LOOK_MS) / 1000);
  assert.deepEqual(counts(), { sets: 2, pods: 6 });
  const [begun] = attempts.filter(({ by }) => by === 'second');
  assert.ok(begun !== undefined && begun.atMs - killedMs <= LEASE_MS + LOOK_MS, 'within the lease');
  assert.ok(begun.atMs - killedMs >= LEASE_MS - 2 * RETRY_MS, 'not before the lease is over');
  await pass(60);
  assert.deepEqual(counts(), { sets: 2, pods: 6 });
});

test('a disconnected leader with work to do tries no write once the second has begun', async (t) => {
  const { start, addSilentNode, deploy, pass, attempts, counts, nowMs } = await scene(t);
  const first = start('first');
  await pass(2);
  const second = start('second');
  await addSilentNode('n');
  await deploy('a');
  await pass(58); // the node is about to be marked
  first.gate.close();
  const cutMs = nowMs();
  await pass(100); // a new leader restarts the node's grace period
  const of = (who: string): number[] =>
    attempts.filter(({ by, atMs }) => by === who && atMs > cutMs).map(({ atMs }) => atMs);
  assert.ok(of('first').length > 0, 'it had work to do');
  assert.ok(of('second').length > 0, 'so had the second');
  assert.ok(Math.max(...of('first')) < Math.min(...of('second')), 'never two at once');
  assert.equal(await first.ended, 'leadership lost');
  first.gate.open();
  await pass(30);
  assert.deepEqual([first.controllers.leads(), second.controllers.leads()], [false, true]);
  assert.deepEqual(counts(), { sets: 1, pods: 3 });
});

test('a leader that stops gracefully hands over at once', async (t) => {
  const { start, pass } = await scene(t);
  const first = start('first');
  await pass(2);
  const second = start('second');
  await pass(3);
  first.stop.abort(new Error('stopped'));
  await pass(6);
  assert.equal(await first.ended, 'stopped');
  assert.equal(second.controllers.leads(), true);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StatusError } from '../../api/status-error.ts';
import { Nodes } from '../../api/gen/resources.ts';
import { isNodeReady } from '../../component-helpers/nodes.ts';
import { Cluster } from '../cluster.ts';
import type { ScenarioStep } from '../scenario-steps.ts';
import { RunningClock } from './running-clock.ts';
import { type Simulation, simulationRoutes } from './simulation-route.ts';

const PATH = '/keelson/v1/simulation';

async function start(withClock = true) {
  const steps: ScenarioStep[] = [];
  const started: { cluster?: Cluster } = {};
  const recording = { add: (step: ScenarioStep) => void steps.push(step), text: () => `steps: ${steps.length}\n` };
  const routes = (clock?: RunningClock) => simulationRoutes({ cluster: () => started.cluster, clock, recording });
  const asleep = { monotonicMs: () => 0, sleep: () => new Promise<void>(() => undefined) };
  const log = { error: () => undefined } as never;
  const clock = withClock
    ? new RunningClock({ moved: { advance: async () => undefined }, real: asleep, log }, 1)
    : undefined;
  const cluster = await Cluster.start({ nodes: 2, routes: routes(clock) });
  started.cluster = cluster;
  const send = async (client: Cluster['client'], method: 'GET' | 'POST', body?: object): Promise<Simulation> => {
    const answer = await client.raw({ method, path: PATH, body });
    return JSON.parse(Buffer.from(answer.body).toString()) as Simulation;
  };
  return { cluster, steps, send, clock };
}

async function refusal(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof StatusError);
    return `${error.status.code} ${error.status.message}`;
  }
  assert.fail('it was not refused');
}

test('faults of machines take effect, are reported, and are recorded as steps of a scenario', async () => {
  const { cluster, steps, send } = await start();
  await using _ = cluster;
  const post = (body: object) => send(cluster.client, 'POST', body);
  assert.deepEqual((await send(cluster.client, 'GET')).broken, []);
  await post({ do: 'crash', node: 'node-1' });
  const { broken } = await post({ do: 'partition', node: 'node-2' });
  assert.deepEqual(broken, [
    { node: 'node-1', faults: ['noPower'] },
    { node: 'node-2', faults: ['partitioned'] },
  ]);
  await cluster.eventually(() => {
    const lost = cluster.peek(Nodes).filter((node) => !isNodeReady(node));
    assert.equal(lost.length, 2);
  });
  await post({ do: 'start', node: 'node-1' });
  await post({ do: 'stop', node: 'node-1' });
  assert.deepEqual((await post({ do: 'heal', node: 'node-2' })).broken, [{ node: 'node-1', faults: ['noKubelet'] }]);
  assert.deepEqual(steps, [
    { crash: 'node/node-1' },
    { partition: 'node-2' },
    { start: 'node/node-1' },
    { stop: 'kubelet/node-1' },
    { heal: 'node-2' },
  ]);
});

test('the clock is paused, stepped and set; invalid orders are refused with one line', async () => {
  const { cluster, send } = await start();
  await using _ = cluster;
  const post = (body: object) => send(cluster.client, 'POST', body);
  assert.deepEqual((await post({ do: 'pause' })).clock, { paused: true, speed: 1, reached: 0 });
  assert.equal((await post({ do: 'speed', speed: 1_000_000 })).clock?.speed, 1_000_000);
  assert.equal((await post({ do: 'run' })).clock?.paused, false);
  assert.equal((await post({ do: 'step', seconds: 60 })).clock?.paused, true);
  for (const [body, expected] of [
    [{ do: 'speed', speed: 1_000_001 }, /^400 speed: 1000001 is no number above 0 and up to 1000000/],
    [{ do: 'speed', speed: 'fast' }, /^400 speed: "fast" is no number/],
    [{ do: 'step', seconds: -1 }, /^400 seconds: -1 is no number/],
    [{ do: { toString: 1 } }, /^400 do: must be one of/],
    [{ do: 'crash', node: { toString: 1 } }, /^400 node: {"toString":1} is no name/],
    [{ do: 'constructor' }, /^400 do: must be one of pause, run/],
    [{ do: 'crash', node: 'none' }, /^404 nodes "none" not found/],
    [[], /^400 do: must be one of/],
  ] as const)
    assert.match(await refusal(post(body)), expected);
});

test('real time cannot be advanced; a user without the role can neither read nor order', async () => {
  const { cluster, send, steps } = await start(false);
  await using _ = cluster;
  assert.equal((await send(cluster.client, 'GET')).clock, undefined);
  assert.match(
    await refusal(send(cluster.client, 'POST', { do: 'pause' })),
    /^400 do: the time of this simulation is real/,
  );
  const eve = cluster.clientFor({ name: 'eve', groups: ['system:authenticated'] });
  assert.match(await refusal(send(eve, 'GET')), /^403 .*cannot get path/);
  await cluster.apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: watcher}
rules: [{nonResourceURLs: [${PATH}], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: watcher}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: watcher}
subjects: [{kind: User, name: eve, apiGroup: rbac.authorization.k8s.io}]
`);
  assert.equal((await send(eve, 'GET')).kind, 'Simulation');
  assert.match(await refusal(send(eve, 'POST', { do: 'crash', node: 'node-1' })), /^403 .*cannot post path/);
  assert.deepEqual(steps, []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defined } from '../../base/defined-fixture.ts';
import { podWhyText } from '../../component-helpers/pod-why.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createSchedulerCache } from '../cache/scheduler-cache.ts';
import { createNominator } from '../framework/nominations.ts';
import { createProfile } from '../framework/profile.ts';
import { defaultPlugins } from '../plugins/list.ts';
import { schedulePod } from '../schedule-pod.ts';
import { testNode, testPluginDeps, testPod } from '../scheduler-fixture.ts';
import { createDecisionLog, type Decision } from './decision-log.ts';
import { explainNow, podDecisionOf } from './explain-nodes.ts';

const profile = createProfile({
  schedulerName: 'default-scheduler',
  plugins: defaultPlugins.map(({ create }) => create(testPluginDeps())),
  weights: Object.fromEntries(defaultPlugins.map(({ name, weight }) => [name, weight])),
});

function cluster() {
  const cache = createSchedulerCache();
  cache.addNode(testNode('small', { cpu: '500m' }));
  cache.addNode(testNode('busy', { cpu: '2' }));
  cache.addNode(testNode('tainted', { cpu: '500m', spec: { taints: [{ key: 'gpu', effect: 'NoSchedule' }] } }));
  cache.assume(testPod('other', { cpu: '1500m' }), 'busy');
  return cache;
}

const look = (pod = testPod('p', { cpu: '900m' }), cache = cluster()) =>
  explainNow({ profile, pod, snapshot: cache.snapshot(), nominations: createNominator(), clock: new VirtualClock() });

test('an explanation names the nearest nodes first, and everything each lacks', async () => {
  const { result, message, nodes } = await look();
  assert.equal(result, 'Unschedulable');
  assert.equal(message, '0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu.');
  const refused = nodes.map(({ name, verdict, plugins }) => [
    name,
    verdict,
    ...plugins.filter((p) => p.verdict !== 'Passed').flatMap(({ name: plugin, lacks = [] }) => [plugin, ...lacks]),
  ]);
  assert.deepEqual(refused, [
    ['busy', 'Rejected', 'NodeResourcesFit', 'asks for 900m cpu, 500m of 2 are free'],
    ['small', 'Unresolvable', 'NodeResourcesFit', 'asks for 900m cpu, 500m of 500m are free'],
    [
      'tainted',
      'Unresolvable',
      'TaintToleration',
      'taint gpu:NoSchedule',
      'NodeResourcesFit',
      'asks for 900m cpu, 500m of 500m are free',
    ],
  ]);
});

test('an explanation of a pod that fits has scores by plugin, and the nodes it does not fit on', async () => {
  const { result, nodes } = await look(testPod('p', { cpu: '400m' }));
  assert.equal(result, 'Schedulable');
  assert.deepEqual(nodes.map(({ name, verdict }) => [name, verdict]).sort(), [
    ['busy', 'Feasible'],
    ['small', 'Feasible'],
    ['tainted', 'Unresolvable'],
  ]);
  const [best] = nodes;
  const sum = best?.scores?.reduce((total, { score, weight }) => total + score * weight, 0);
  assert.equal(best?.totalScore, sum);
  assert.ok(best?.scores?.some(({ name }) => name === 'NodeResourcesFit'));
});

test('an explanation changes nothing: the next decision is the same', async () => {
  const cache = cluster();
  const pod = testPod('p', { cpu: '400m' });
  const decide = () =>
    schedulePod(
      { profile, pod, snapshot: cache.snapshot(), random: createSeededRandom(1), cursor: { startAt: 0 } },
      new Map(),
    ).node;
  const before = decide();
  await look(pod, cache);
  assert.equal(decide(), before);
});

test('an explanation of a past decision lists the chosen node first', () => {
  const cache = cluster();
  const pod = testPod('p', { cpu: '400m' });
  const result = schedulePod(
    { profile, pod, snapshot: cache.snapshot(), random: createSeededRandom(1), cursor: { startAt: 0 } },
    new Map(),
  );
  assert.ok(result.node !== undefined);
  const { node, scored, statuses, filters } = result;
  const told = podDecisionOf({
    uid: 'u',
    atMs: 0,
    nodeName: node,
    message: '',
    nodeCount: 3,
    statuses,
    filters,
    ...(scored && { scored }),
  });
  assert.deepEqual([told.nodes[0]?.name, told.nodes[0]?.verdict], [node, 'Chosen']);
  const tainted = told.nodes.find(({ name }) => name === 'tainted');
  assert.deepEqual(defined(tainted?.plugins.at(-1)), {
    name: 'TaintToleration',
    verdict: 'Unresolvable',
    reasons: ['node(s) had untolerated taint(s)'],
  });
});

test('the log drops the oldest beyond a number of nodes, but not the results of waiting pods', () => {
  const log = createDecisionLog();
  const statuses = new Map(
    Array.from({ length: 20_000 }, (_, i) => [`n${i}`, { code: 'unschedulable', reasons: [], plugin: 'X' } as const]),
  );
  const decision = (uid: string): Decision => ({
    uid,
    atMs: 0,
    message: `no room for ${uid}`,
    nodeCount: 20_000,
    statuses,
    filters: [],
  });
  for (const uid of ['a', 'b', 'c']) log.add(decision(uid));
  assert.deepEqual(
    ['a', 'b', 'c'].map((uid) => log.last(uid) !== undefined),
    [false, true, true],
  );
  assert.equal(log.waitingMessage('a'), 'no room for a');
  log.leaves('a');
  assert.equal(log.waitingMessage('a'), undefined);
  log.add(decision('b'));
  assert.ok(log.last('c') !== undefined, 'a new decision about the same pod takes the place of the old one');
});

test('the text names the nodes and the lacking resources', async () => {
  const text = podWhyText(
    {
      apiVersion: 'keelson/v1',
      kind: 'PodWhy',
      metadata: { name: 'p', namespace: 'default', uid: 'u' },
      schedulerName: 'default-scheduler',
      state: 'Unschedulable',
      message: (await look()).message,
      queue: { attempts: 2, waitingSeconds: 7, rejectedBy: ['NodeResourcesFit'] },
      now: await look(),
    },
    1,
  );
  assert.match(text, /^pod default\/p: Unschedulable\n/);
  assert.match(text, /2 attempts, in the queue for 7 s; woken by what changes for NodeResourcesFit/);
  assert.match(text, /nearest nodes:\n {4}busy: Rejected\n {6}NodeResourcesFit: Insufficient cpu; asks for 900m cpu/);
  assert.match(text, /and 2 more/);
});

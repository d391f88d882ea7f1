import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLog } from '../../platform/sim/log.ts';
import type { HttpCall } from '../../platform/net.ts';
import type { ExtenderConfig } from '../config/read-extenders.ts';
import { NodeInfo } from '../cache/node-info.ts';
import { createSchedulerCache } from '../cache/scheduler-cache.ts';
import { testNode, testPod } from '../scheduler-fixture.ts';
import { extendersInPreemption, filterByExtenders, scoreByExtenders } from './ask-extenders.ts';
import { createExtender, type Extender } from './extender.ts';

const CONFIG: ExtenderConfig = {
  urlPrefix: 'http://ext:80/api',
  filterVerb: 'filter',
  prioritizeVerb: 'score',
  preemptVerb: 'preempt',
  bindVerb: 'bind',
  weight: 3,
  httpTimeoutMs: 5000,
  nodeCacheCapable: true,
  managedResources: [],
  ignoredResources: [],
  ignorable: false,
};
const nodes = ['a', 'b', 'c'].map((name) => new NodeInfo(testNode(name)));
const { signal } = new AbortController();

function extender(
  answer: object | number,
  config: Partial<ExtenderConfig> = {},
): { made: Extender; calls: HttpCall[] } {
  const calls: HttpCall[] = [];
  const http = async (call: HttpCall) => {
    calls.push(call);
    const status = typeof answer === 'number' ? answer : 200;
    const body = (async function* () {
      yield Buffer.from(JSON.stringify(answer));
    })();
    return { status, headers: {}, body, cancel: () => undefined };
  };
  return { made: createExtender({ net: { http } }, { ...CONFIG, ...config }), calls };
}
const question = (...extenders: Extender[]) => ({
  extenders,
  pod: testPod('p'),
  nodes,
  signal,
  log: createMemoryLog(),
});

test('a filter keeps the nodes it names and reports why not the others', async () => {
  const { made, calls } = extender({
    NodeNames: ['a'],
    FailedNodes: { b: 'full' },
    FailedAndUnresolvableNodes: { c: 'never' },
  });
  const { feasible, statuses } = await filterByExtenders(question(made));
  assert.deepEqual(
    feasible.map(({ name }) => name),
    ['a'],
  );
  assert.deepEqual(
    [...statuses].map(([name, { code, reasons }]) => [name, code, ...reasons]),
    [
      ['b', 'unschedulable', 'full'],
      ['c', 'unresolvable', 'never'],
    ],
  );
  assert.equal(calls[0]?.url, 'http://ext:80/api/filter');
  const body = JSON.parse(String(calls[0]?.body)) as { Pod: object; NodeNames: string[] };
  assert.deepEqual(body.NodeNames, ['a', 'b', 'c']);
});

test('extenders without a node cache get whole nodes, and answers may be in any case', async () => {
  const { made, calls } = extender({ nodes: { items: [{ metadata: { name: 'b' } }] } }, { nodeCacheCapable: false });
  const { feasible } = await filterByExtenders(question(made));
  assert.deepEqual(
    feasible.map(({ name }) => name),
    ['b'],
  );
  const body = JSON.parse(String(calls[0]?.body)) as { Nodes: { items: unknown[] } };
  assert.equal(body.Nodes.items.length, 3);
});

test('a failure fails the pod, unless the extender is ignorable', async () => {
  await assert.rejects(
    filterByExtenders(question(extender(500).made)),
    /failed filter with extender at URL http:\/\/ext:80\/api, code 500/,
  );
  await assert.rejects(filterByExtenders(question(extender({ Error: 'no' }).made)), /no/);
  const { feasible } = await filterByExtenders(question(extender(500, { ignorable: true }).made));
  assert.equal(feasible.length, 3);
});

test('scores are weighted and brought to the scale of the plugins', async () => {
  const scores = await scoreByExtenders(
    question(
      extender([
        { Host: 'a', Score: 10 },
        { Host: 'b', Score: 1 },
      ]).made,
    ),
  );
  assert.deepEqual(
    [...scores],
    [
      ['a', 300],
      ['b', 30],
    ],
  );
});

test('only pods that ask for a managed resource are its business', () => {
  const { made } = extender({}, { managedResources: ['x.io/gpu'] });
  assert.equal(made.isInterested(testPod('p')), false);
  const limits = { 'x.io/gpu': '1' };
  assert.equal(made.isInterested(testPod('p', { spec: { containers: [{ name: 'c', resources: { limits } }] } })), true);
});

test('a refused binding is a failure', async () => {
  const { made, calls } = extender({ Error: 'taken' });
  const status = await made.bind(testPod('p'), 'a', signal);
  assert.deepEqual([status?.code, status?.reasons], ['error', ['taken']]);
  assert.deepEqual(JSON.parse(String(calls[0]?.body)), {
    PodName: 'p',
    PodNamespace: 'default',
    PodUID: 'uid-p',
    Node: 'a',
  });
  assert.equal(await extender({}).made.bind(testPod('p'), 'a', signal), undefined);
});

const lowly = ['x', 'y'].map((name) => testPod(name));
const cache = createSchedulerCache();
for (const name of ['a', 'b']) cache.addNode(testNode(name));
lowly.forEach((pod, i) => cache.assume(pod, i === 0 ? 'a' : 'b'));
const proposed = new Map(lowly.map((pod, i) => [i === 0 ? 'a' : 'b', { victims: [pod], violations: i }] as const));
const asking = (...extenders: Extender[]) =>
  extendersInPreemption({ ...question(...extenders), snapshot: cache.snapshot() });
const judged = async (...extenders: Extender[]) => {
  const left = (await asking(...extenders).askExtenders?.(proposed)) ?? [];
  return [...left].map(([node, { victims, violations }]) => [node, victims.map((v) => v.metadata.name), violations]);
};
const ALL = [
  ['a', ['x'], 0],
  ['b', ['y'], 1],
];
const onB = { NodeNameToMetaVictims: { b: { Pods: [{ UID: 'uid-y' }], NumPDBViolations: 2 } } };

test('victims are sent as uids to extenders with a cache, whole to others; the returned ones count', async () => {
  const { made, calls } = extender(onB);
  assert.deepEqual(await judged(made), [['b', ['y'], 2]]);
  assert.equal(calls[0]?.url, 'http://ext:80/api/preempt');
  const body = JSON.parse(String(calls[0]?.body)) as Record<string, unknown>;
  assert.deepEqual(body['NodeNameToMetaVictims'], {
    a: { Pods: [{ UID: 'uid-x' }], NumPDBViolations: 0 },
    b: { Pods: [{ UID: 'uid-y' }], NumPDBViolations: 1 },
  });
  const whole = extender(onB, { nodeCacheCapable: false });
  await judged(whole.made);
  const sent = JSON.parse(String(whole.calls[0]?.body)) as { NodeNameToVictims: Record<string, { Pods: object[] }> };
  assert.deepEqual(sent.NodeNameToVictims['a']?.Pods, [JSON.parse(JSON.stringify(lowly[0]))]);
});

const refusals: readonly [string, object | number, RegExp][] = [
  ['that fails', 500, /failed preempt with extender/],
  [
    'that names a strange pod',
    { NodeNameToMetaVictims: { a: { Pods: [{ UID: 'uid-y' }] } } },
    /UID: uid-y.* on node: a/,
  ],
  ['that names a strange node', { NodeNameToMetaVictims: { z: { Pods: [{ UID: 'uid-y' }] } } }, /names node "z"/],
  [
    'that leaves a node without victims',
    { NodeNameToMetaVictims: { a: { Pods: [] } } },
    /at least one victim pod on node "a"/,
  ],
];
for (const [name, answer, error] of refusals)
  test(`preemption: an extender ${name} ends it`, () => assert.rejects(judged(extender(answer).made), error));

test('preemption: a failed ignorable extender is skipped, and its empty nodes are left out', async () => {
  assert.deepEqual(await judged(extender(500, { ignorable: true }).made), ALL);
  const answer = { NodeNameToMetaVictims: { a: { Pods: [] }, ...onB.NodeNameToMetaVictims } };
  assert.deepEqual(await judged(extender(answer, { ignorable: true }).made), [['b', ['y'], 2]]);
});

test('preemption: the next extender gets the nodes of the one before; without nodes none is called', async () => {
  const next = extender(onB);
  assert.deepEqual(await judged(extender({ NodeNameToMetaVictims: {} }).made, next.made), []);
  assert.equal(next.calls.length, 0);
});

test('preemption: only extenders with the verb, and for their pods, are called', () => {
  const asked = (config: Partial<ExtenderConfig>) => {
    const { checkedByExtenders, askExtenders } = asking(extender({}, config).made);
    return [checkedByExtenders, askExtenders !== undefined];
  };
  assert.deepEqual(asked({}), [true, true]);
  assert.deepEqual(asked({ preemptVerb: '' }), [true, false]);
  assert.deepEqual(asked({ managedResources: ['x.io/gpu'] }), [false, false]);
});

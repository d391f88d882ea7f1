import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLog } from '../../platform/sim/log.ts';
import type { HttpCall } from '../../platform/net.ts';
import type { ExtenderConfig } from '../config/read-extenders.ts';
import { NodeInfo } from '../cache/node-info.ts';
import { testNode, testPod } from '../scheduler-fixture.ts';
import { filterByExtenders, scoreByExtenders } from './ask-extenders.ts';
import { createExtender, type Extender } from './extender.ts';

const CONFIG: ExtenderConfig = {
  urlPrefix: 'http://ext:80/api',
  filterVerb: 'filter',
  prioritizeVerb: 'score',
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

test('a filter leaves the nodes it names and tells why not the others', async () => {
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

test('whole nodes go to those that keep none, and answers may be in any case', async () => {
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

/** The output of a run: its timeline, waits that ended at once, predictions about faults, and changes at rest. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Cluster } from './cluster.ts';
import { expectRest } from './scenario-expectations.ts';
import { runScenario, type ScenarioError } from './scenario-run.ts';
import { parseScenario } from './scenario.ts';

const APPLY = `
  - apply:
      apiVersion: apps/v1
      kind: Deployment
      metadata: { name: web }
      spec:
        replicas: 3
        selector: { matchLabels: { app: web } }
        template:
          metadata: { labels: { app: web } }
          spec: { containers: [{ name: web, image: "web:1" }] }
  - wait: { for: deployment/web, until: .status.availableReplicas=3 }`;

const scenarioOf = (steps: string, head = 'nodes: 3') => parseScenario(`name: x\n${head}\nsteps:${steps}\n`);

describe('the timeline of a run', () => {
  it('has steps, changes with their authors, and events; recording it changes nothing in the run', async () => {
    const scenario = scenarioOf(`${APPLY}
  - crash: node/node-1
  - wait: { for: node/node-1, until: Ready=Unknown }
  - wait: { for: deployment/web, until: .status.availableReplicas=3 }`);
    const plain = await runScenario(scenario, 4);
    const { hash, timeline = [] } = await runScenario(scenario, 4, { timeline: true });
    assert.equal(hash, plain.hash);
    assert.equal(plain.timeline, undefined);
    const expected = [
      /^ +\+0ms {2}step 1 +apply: deployment\/web$/,
      /^ +\+0ms {2}scenario +created deployment\/web$/,
      /deployment-controller +created replicaset\/web-\w+ for deployment\/web$/,
      /scheduler +event Scheduled pod\/web-.*: Successfully assigned default\/web-\S+ to node-/,
      /kubelet\/node-\d +pod\/web-\S+: .*Ready False → True/,
      /step 3 +crash: node\/node-1$/,
      /step 3 +note: node-1 has no power\. Its lease is .* old; when that is 50s, between \+\S+ and \+\S+, .*Ready=Unknown/,
      /\+5[0-5]\S*s {2}node-controller +node\/node-1: .*Ready True → Unknown \(NodeStatusUnknown: Kubelet stopped posting/,
      /node-controller +event NodeNotReady node\/node-1: /,
      /step 5 +wait: /,
      /taint-eviction-controller +event TaintManagerEviction pod\/web-\S+: /,
      /step 5 +passed$/,
    ];
    let from = 0;
    for (const pattern of expected) {
      const found = timeline.findIndex((line, index) => index >= from && pattern.test(line));
      assert.notEqual(found, -1, `${pattern} after line ${from}:\n${timeline.join('\n')}`);
      from = found;
    }
    assert.ok(!timeline.some((line) => line.includes('lease/')), 'leases are heartbeats');
  });

  it('continues across a crash of the API server, and ends with the failure', async () => {
    const scenario = scenarioOf(`
  - apply: { apiVersion: v1, kind: ConfigMap, metadata: { name: before } }
  - crash: apiserver
  - advance: 10s
  - start: apiserver
  - advance: 10s
  - apply: { apiVersion: v1, kind: ConfigMap, metadata: { name: after } }
  - delete: configmap/after
  - expect: { object: configmap/after }`);
    const { timeline, message } = await runScenario(scenario, 1, { timeline: true }).then(
      () => assert.fail('passed'),
      (error: ScenarioError) => error,
    );
    const text = timeline?.join('\n') ?? '';
    assert.match(
      text,
      /created configmap\/before\n[^]*clients are refused[^]*\+20\S*s {2}scenario +created configmap\/after\n[^]*deleted configmap\/after\n[^]*step 8 +failed: /,
    );
    assert.match(message, /\nstep 2: clients are refused from now on; containers run on$/);
  });

  it('names fields of deleted objects, and of secrets without their values', async () => {
    const scenario = scenarioOf(`
  - apply: { apiVersion: v1, kind: Secret, metadata: { name: s, finalizers: [example.com/hold] }, stringData: { a: open-sesame } }
  - patch: { object: secret/s, merge: { stringData: { a: shibboleth } } }
  - delete: secret/s`);
    const { timeline = [] } = await runScenario(scenario, 1, { timeline: true });
    const text = timeline.filter((line) => !line.includes('step ')).join('\n');
    assert.match(text, /scenario +secret\/s: data\.a: \(hidden\) → \(hidden\)\n/);
    assert.match(text, /scenario +secret\/s: deletion begins, .*waits for example\.com\/hold/);
    assert.doesNotMatch(text, /sesame|shibboleth/);
  });
});

describe('a wait', () => {
  it('whose condition was already met has a note, which names a loss that was not noticed yet', async () => {
    const { notes } = await runScenario(
      scenarioOf(`${APPLY}
  - crash: node/node-1
  - wait: { for: deployment/web, until: .status.availableReplicas=3 }`),
      1,
    );
    const idle = notes.filter(({ kind }) => kind === 'alreadyTrue');
    assert.deepEqual(
      idle.map(({ step }) => step),
      [3],
    );
    assert.match(idle[0]!.text, /was so already: .*that node-1 is lost is noticed at \+\S+ at the earliest$/);
  });

  it('that waited, even for an event of the same instant, has no note', async () => {
    const { notes } = await runScenario(
      scenarioOf(`${APPLY}
  - crash: node/node-1
  - start: node/node-1
  - delete: deployment/web
  - wait: { pods: { selector: app=web, count: 0 } }
  - wait: { for: deployment/web, until: deleted }`),
      1,
    );
    assert.deepEqual(
      notes.filter(({ kind }) => kind === 'alreadyTrue'),
      [{ step: 6, kind: 'alreadyTrue', text: 'what it waits for was so already: nothing changed, no time passed' }],
    );
  });
});

describe('the note about a fault predicts when it is noticed:', () => {
  for (const fault of ['crash: node/node-1', 'crash: kubelet/node-1', 'stop: kubelet/node-1', 'partition: node-1'])
    for (const advance of ['0s', '7s', '23s'])
      it(`${fault} after ${advance}`, async () => {
        const scenario = scenarioOf(`${APPLY}
  - advance: ${advance}
  - ${fault}
  - wait: { for: node/node-1, until: Ready=Unknown }`);
        const { notes, virtualMs } = await runScenario(scenario, 1);
        const [, from = '', to = ''] = /between \+(\S+) and \+([^, ]+),/.exec(notes[0]?.text ?? '') ?? [];
        const seconds = (text: string): number =>
          [...text.matchAll(/([\d.]+)([ms])/g)].reduce(
            (sum, [, n, unit]) => sum + Number(n) * (unit === 'm' ? 60 : 1),
            0,
          );
        assert.ok(
          seconds(from) <= virtualMs / 1000 && virtualMs / 1000 <= seconds(to),
          `${notes[0]?.text}: ${virtualMs}`,
        );
        assert.match(notes[0]!.text, /pods? (is|are) deleted 5m0s after that\.$/);
      });

  it('it is not noticed without the controller, and pods of the only node stay', async () => {
    const crash = '\n  - crash: node/node-1';
    const off = await runScenario(scenarioOf(crash, 'controllers: []'), 1);
    assert.match(off.notes[0]!.text, /Nobody notices while the node-lifecycle-controller does not run/);
    const pod = `
  - apply: { apiVersion: v1, kind: Pod, metadata: { name: p }, spec: { containers: [{ name: c, image: 'web:1' }] } }
  - wait: { for: pod/p }`;
    const alone = await runScenario(scenarioOf(pod + crash, 'nodes: 1'), 1);
    assert.match(alone.notes[0]!.text, /No other node is Ready, so no pod is deleted for it/);
    const parts = await runScenario(scenarioOf('\n  - crash: scheduler'), 1);
    assert.match(parts.notes[0]!.text, /what the scheduler would do is left undone/);
  });
});

describe('an unmet rest', () => {
  it('names the changes', async () => {
    await using cluster = await Cluster.start({ nodes: 3 });
    await cluster.advance('10m');
    await cluster.apply(JSON.stringify({ ...POD }));
    await cluster.waitFor('pod/p', 'Ready');
    await cluster.nodes.crash(cluster.nodes.names()[0]!);
    await cluster.nodes.crash(cluster.nodes.names()[1]!);
    await cluster.nodes.crash(cluster.nodes.names()[2]!);
    const error = await expectRest(cluster, 0).then(
      () => assert.fail('passed'),
      (failure: Error) => failure,
    );
    assert.match(
      error.message,
      /^not at rest, in one minute changed: 1 pods\n {2}pod\/p: Ready True → False \(NodeNotReady: Node is not ready\)$/,
    );
  });
});

const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  spec: { containers: [{ name: 'c', image: 'web:1' }] },
};

/** Scenario files: misspelt words are refused with line and field; failures can be repeated. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runScenario, type ScenarioError } from './scenario-run.ts';
import { drawScenario, parseImages, parseScenario, type Scenario } from './scenario.ts';

function withStep(step: string): string {
  return `name: x\nnodes: 1\nsteps:\n  - rest: 1m\n${step.replace(/^/gm, '    ').replace(/^ {4}/, '  - ')}\n`;
}

describe('an invalid scenario is refused with line and field', () => {
  const cases: [text: string, error: string | RegExp][] = [
    [
      '',
      'line 1: null has not the fields name, about, seed, regressions, nodes, controllers, schedulerConfig, images, steps',
    ],
    [
      'name: x\nnode: 3\nsteps: []',
      'line 2: node: unknown field; did you mean nodes? There are name, about, seed, regressions, nodes, controllers, schedulerConfig, images, steps',
    ],
    ['name: x', 'line 1: steps is missing'],
    ['name: x\nname: y\nsteps: []', /line 2: key "name" already set/],
    ['name: x\nsteps:\n  - rest: [', /line 3/],
    [
      'name: x\nnodes: [{ cpu: 3 }]\nsteps: []',
      /^line 2: nodes\.0\.cpu: unknown field; did you mean cpus\? There are name, cpus, memoryBytes/,
    ],
    [
      'name: x\nimages:\n  web:1:\n    start: soon\nsteps: []',
      'line 4: images.web:1.start: "soon" is no span of time, such as 1m30s',
    ],
    [
      'name: x\nimages: { web: { run: x } }\nsteps: []',
      /^line 2: images\.web\.run: unknown field; there are start, exits/,
    ],
    [withStep('nonsense: 3'), /^line 5: step 2, nonsense: is not one of the steps apply, delete, /],
    [withStep('rest: 1m\nadvance: 2m'), /^line 6: step 2, advance: is not one of the steps/],
    [
      withStep('wait: { for: pod/x,\n  untill: Ready }'),
      'line 6: step 2, wait.untill: unknown field; did you mean until? There are for, until, pods, within',
    ],
    [withStep('wait:\n  pods:\n    count: 3'), 'line 6: step 2, wait.pods: selector is missing'],
    [
      withStep('expect:\n  pods: { selector: a, count: many }'),
      'line 6: step 2, expect.pods.count: "many" is no number',
    ],
    [withStep('advance: 1y'), 'line 5: step 2, advance: "1y" is no span of time, such as 1m30s'],
    [withStep('advance: 1s..2y'), 'line 5: step 2, advance: "1s..2y" is no span of time, such as 1m30s'],
    [
      withStep('crash: everything'),
      'line 5: step 2, crash: "everything" is no apiserver, controllers, scheduler, node/NAME or kubelet/NAME',
    ],
    [
      withStep('crashAfterWrites: { part: kubelet, writes: 1 }'),
      /^line 5: step 2, crashAfterWrites\.part: "kubelet" is no apiserver/,
    ],
    [withStep('delete: pod'), 'line 5: step 2, delete: "pod" is no KIND/NAME or KIND/NAMESPACE/NAME'],
    [
      withStep('store: { laggy: true }'),
      'line 5: step 2, store.laggy: unknown field; there are latency, failRate, unknownRate, failNext, down, full',
    ],
    [
      withStep('repeat:\n  times: 2\n  every: 1s\n  steps:\n    - wait: { fro: x }'),
      'line 9: step 2, repeat.steps.0.wait.fro: unknown field; did you mean for? There are for, until, pods, within',
    ],
    ['name: x\nseed: 1..3\nsteps: []', 'line 2: seed: "1..3" is no whole number from 1 on'],
    ['name: x\nregressions: [1..3]\nsteps: []', 'line 2: regressions.0: "1..3" is no whole number from 1 on'],
    ['name: x\nnodes: 3..1\nsteps: []', 'line 2: nodes: "3..1" is no number'],
    [withStep('advance: 9s..1s'), 'line 5: step 2, advance: "9s..1s" is no span of time, such as 1m30s'],
    ...['100m..200m', '64Mi..128Mi', 'much'].map((amount): [string, string] => [
      `name: x\nimages: { web: { usage: { cpu: ${amount} } } }\nsteps: []`,
      `line 2: images.web.usage.cpu: "${amount}" is no amount, such as 250m or 64Mi`,
    ]),
    [withStep('wait: {}'), 'line 5: step 2, wait: waits for nothing: for or pods is missing'],
    [withStep('wait: { until: absent }'), 'line 5: step 2, wait: until is of an object: for is missing'],
    [withStep('expect: {}'), 'line 5: step 2, expect: expects nothing: object, pods, event or why is missing'],
    [
      withStep('expect: { object: pod/p, atLeast: 2 }'),
      'line 5: step 2, expect: atLeast is of a value: path is missing',
    ],
    [
      withStep('expect: { object: pod/p, path: .status.x, is: Ready }'),
      'line 5: step 2, expect: is and path do not go together: .status.x=3 is written with is alone',
    ],
    [
      withStep('expect: { object: pod/p, path: .status.x }'),
      'line 5: step 2, expect: says nothing of the path: remembered, atLeast or atMost is missing',
    ],
    [
      withStep('expect: { event: { reason: Failed }, atMost: 0 }'),
      'line 5: step 2, expect: atMost is of an object: object is missing',
    ],
    [withStep('expect: { event: { reason: Failed, atLeast: 0 } }'), /expect\.event: atLeast: 0 holds always/],
    [withStep('wait: { pods: { selector: a } }'), /wait\.pods: says nothing of the pods/],
    [withStep('patch: { object: pod/p }'), /patch: changes nothing, or in two ways/],
    [withStep('patch: { object: pod/p, merge: {}, json: [] }'), /patch: changes nothing, or in two ways/],
    [withStep('always: { name: a, selector: a }'), /always: demands nothing: minReady or maxActive is missing/],
  ];
  for (const [text, error] of cases)
    it(JSON.stringify(text), () => {
      assert.throws(
        () => parseScenario(text),
        ({ message }: Error) =>
          (typeof error === 'string' ? message === error : error.test(message)) || assert.fail(message),
      );
    });
});

describe('a scenario', () => {
  it('fails at the same step with the same message in each run of a seed; the message has step and seed', async () => {
    const scenario = parseScenario(`
name: One of three crashes
images: { web:1: { exits: { code: 1, after: 1s..9s } } }
steps:
  - apply: { apiVersion: v1, kind: Pod, metadata: { name: p }, spec: { restartPolicy: Never, containers: [{ name: c, image: 'web:1' }] } }
  - wait: { for: pod/p }
  - advance: 1s..9s
  - expect: { object: pod/p, is: Ready }
`);
    const outcome = (seed: number): Promise<string> =>
      runScenario(scenario, seed).then(
        ({ hash }) => hash,
        ({ step, seed: failed, message }: ScenarioError) => {
          assert.deepEqual([step, failed], [3, seed]);
          return message;
        },
      );
    const first = [];
    for (let seed = 1; seed <= 6; seed++) first.push(await outcome(seed));
    assert.ok(
      first.some((text) => text.startsWith('One of three crashes (seed ')),
      first.join('\n'),
    );
    assert.ok(
      first.some((text) => /^[\da-f]+$/.test(text)),
      first.join('\n'),
    );
    for (let seed = 1; seed <= 6; seed++) assert.equal(await outcome(seed), first[seed - 1]);
  });

  it('describes responses of images: a probe that fails, and one that stops failing', async () => {
    await runScenario(
      parseScenario(`
name: x
images: { web:1: { http: { status: 503 }, exec: { exitCode: 1, stdout: ill } } }
steps:
  - apply:
      apiVersion: v1
      kind: Pod
      metadata: { name: p }
      spec:
        containers:
          - name: c
            image: web:1
            readinessProbe: { httpGet: { path: /, port: 80 }, periodSeconds: 1 }
            livenessProbe: { exec: { command: [check] }, periodSeconds: 5, initialDelaySeconds: 10, failureThreshold: 1 }
  - advance: 9s
  - expect: { object: pod/p, is: Ready=False }
  - image: { name: web:1, http: { status: 200 } }
  - wait: { for: pod/p, within: 30s }
  - expect: { event: { reason: Unhealthy, about: pod/p, atLeast: 2 } }
`),
      1,
    );
  });

  it('acts on objects with generated names; a name without a match fails', async () => {
    const set = 'apiVersion: apps/v1, kind: ReplicaSet, metadata: { name: web }';
    const spec = 'replicas: 2, selector: { matchLabels: { a: b } }';
    const template =
      "template: { metadata: { labels: { a: b } }, spec: { containers: [{ name: c, image: 'web:1' }] } }";
    const scenarioOf = (step: string): Scenario =>
      parseScenario(`
name: x
steps:
  - apply: { ${set}, spec: { ${spec}, ${template} } }
  - wait: { for: replicaset/web, until: .status.readyReplicas=2 }
  - ${step}
  - expect: { event: { reason: Killing, atLeast: 1 } }
  - wait: { pods: { selector: a=b, count: 2, ready: 2 }, within: 1m }
`);
    for (const step of ['delete: pod/web-*', 'evict: pod/default/web-*', 'delete: { object: pod/*, grace: 1 }'])
      await runScenario(scenarioOf(step), 1);
    await assert.rejects(runScenario(scenarioOf('evict: pod/we-*'), 1), /step 3 .*: no pod\/we-\* is there/);
  });

  it('may break the runtime, the API server between two writes, or stop a kubelet gracefully', async () => {
    const result = await runScenario(
      parseScenario(`
name: x
steps:
  - failRuntime: { node: node-1, call: createContainer, error: no space left on device }
  - apply: { apiVersion: v1, kind: Pod, metadata: { name: p }, spec: { containers: [{ name: c, image: 'web:1' }] } }
  - advance: 20s
  - expect: { event: { reason: Failed, about: pod/p } }
  - mendRuntime: { node: node-1, call: createContainer }
  - wait: { for: pod/p, within: 2m }
  - breakRuntimeEvents: node-1
  - stop: kubelet/node-1
  - advance: 10s
  - start: kubelet/node-1
  - crashAfterWrites: { part: apiserver, writes: 3, down: 5s }
  - advance: 30s
  - expect: { object: pod/p, is: Ready }
  - rest: 2m
`),
      1,
    );
    assert.ok(result.virtualMs > 120_000);
  });
});

describe('in a scenario', () => {
  it('random values are drawn for machines, too', () => {
    const scenario = parseScenario('name: x\nnodes: [{ cpus: 2..8, labels: { empty: "" } }]\nsteps: []');
    const cpus = Array.from({ length: 30 }, (_, seed) => {
      const { nodes } = drawScenario(scenario, seed + 1) as { nodes: readonly { cpus: number }[] };
      return nodes[0]!.cpus;
    });
    assert.ok(cpus.every((count) => Number.isInteger(count) && count >= 2 && count <= 8));
    assert.ok(new Set(cpus).size > 3, cpus.join());
    assert.equal(typeof drawScenario({ ...scenario, nodes: '1..3' as never }, 1).nodes, 'number');
  });

  it('programs may write and respond with nothing; a text that is no range is left to the API server', () => {
    const empty = { logs: ['', { line: '' }], exec: { exitCode: 0, stdout: '', stderr: '' }, terminationMessage: '' };
    const http = { status: 200, body: '', headers: { 'X-Empty': '' } };
    const steps = [{ apply: { spec: { memory: '64Mi..128Mi' } } }];
    const scenario = { name: 'x', images: { a: { ...empty, http } }, steps };
    assert.deepEqual(drawScenario(parseScenario(JSON.stringify(scenario)), 1), scenario);
  });

  it('a condition on all pods is not met by none', async () => {
    const text = 'name: x\nsteps:\n  - expect: { pods: { selector: app=web, phase: Running } }\n';
    await assert.rejects(runScenario(parseScenario(text), 1), /pods app=web: any expected, there are: none/);
  });
});

describe('images without a scenario', () => {
  it('have no ranges, because nothing is drawn', () => {
    const refused = 'line 1: web.start: "1s..2s" is no span of time, such as 1m30s';
    assert.throws(() => parseImages('web: { start: 1s..2s }'), { message: refused });
    assert.throws(
      () => parseImages('web: { crashes: { code: 1, after: 1s, times: 1..3 } }'),
      /times: "1..3" is no number/,
    );
    assert.throws(() => parseImages('web: { usage: { cpu: 1..3 } }'), /cpu: "1..3" is no amount/);
  });
});

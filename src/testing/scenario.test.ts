/** Scenario files: what is misspelt is refused with its line and field; what fails can be repeated. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseScenario, runScenario, type ScenarioError } from './scenario.ts';

function withStep(step: string): string {
  return `name: x\nnodes: 1\nsteps:\n  - rest: 1m\n${step.replace(/^/gm, '    ').replace(/^ {4}/, '  - ')}\n`;
}

describe('a scenario that is not understood is refused with line and field', () => {
  const cases: [text: string, error: string | RegExp][] = [
    ['', 'line 1: null has not the fields name, about, seed, regressions, nodes, controllers, images, steps'],
    [
      'name: x\nnode: 3\nsteps: []',
      'line 2: node: unknown field; there are name, about, seed, regressions, nodes, controllers, images, steps',
    ],
    ['name: x', 'line 1: steps is missing'],
    ['name: x\nname: y\nsteps: []', /line 2: key "name" already set/],
    ['name: x\nsteps:\n  - rest: [', /line 3/],
    [
      'name: x\nnodes: [{ cpu: 3 }]\nsteps: []',
      /^line 2: nodes\.0\.cpu: unknown field; there are name, cpus, memoryBytes/,
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
      'line 6: step 2, wait.untill: unknown field; there are for, until, pods, within',
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
      'line 9: step 2, repeat.steps.0.wait.fro: unknown field; there are for, until, pods, within',
    ],
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
  it('fails at the same step, in the same words, at each run of a seed; the step and the seed are told', async () => {
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

  it('describes what images answer: a probe that fails, and one that does not any more', async () => {
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

  it('may break what lies below: the runtime, the API server between two writes, a kubelet that stops in order', async () => {
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

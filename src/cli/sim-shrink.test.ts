import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runScenario, type ScenarioError } from '../testing/scenario-run.ts';
import { parseScenario, type Scenario } from '../testing/scenario.ts';
import { shrinkScenario } from './sim-shrink.ts';
import type { SimAnswer } from './sim-worker.ts';

const config = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

async function failing(scenario: Scenario): Promise<SimAnswer['failure']> {
  try {
    await runScenario(scenario, 5);
    return undefined;
  } catch (error) {
    const { message, cause, step } = error as ScenarioError;
    return { message, cause: (cause as Error).message, step };
  }
}

test('shrinking removes steps, objects, images and machines that the failure does not need, and writes out drawn values', async () => {
  const scenario = {
    ...parseScenario(
      JSON.stringify({
        name: 'x',
        nodes: 2,
        images: { 'a:1': { start: '1s..2s' }, 'b:1': {} },
        steps: [
          { advance: '1s..9s' },
          { apply: [config('one'), config('two'), config('three')] },
          { apply: config('four') },
          { patch: { object: 'configmap/two', merge: { data: { k: 'v' } } } },
          { crashAfterWrites: { part: 'controllers', writes: '1..9', down: '1s..3s' } },
          { expect: { object: 'configmap/two', is: '.data.k=w' } },
          { rest: '1h' },
        ],
      }),
    ),
    seed: 5,
  };
  const failure = await failing(scenario);
  assert.equal(failure?.step, 5);
  const small = await shrinkScenario(scenario, failure, failing);
  assert.deepEqual(small, {
    name: 'x',
    nodes: 1,
    images: {},
    seed: 5,
    steps: [{ apply: [config('two')] }, { expect: { object: 'configmap/two', is: '.data.k=w' } }],
  });
});

test('shrinking keeps the steps that the failure needs, with their drawn values', async () => {
  const scenario = {
    name: 'x',
    nodes: 1,
    seed: 5,
    steps: [
      { apply: config('one') },
      { advance: '3s..9s' },
      { crash: 'node/node-1' },
      { advance: '60s..90s' },
      { expect: { object: 'node/node-1' } },
      { expect: { object: 'node/node-1', is: 'Ready' } },
    ],
  };
  const small = await shrinkScenario(scenario, (await failing(scenario))!, failing);
  const [crash, advance, expect, ...more] = small.steps;
  assert.deepEqual([crash, expect, more], [{ crash: 'node/node-1' }, scenario.steps[5], []]);
  const ms = Number(/^(\d+)ms$/.exec(String(advance?.['advance']))?.[1]);
  assert.ok(ms >= 60_000 && ms <= 90_000, JSON.stringify(advance));
  assert.equal((await failing(small))?.step, 2);
});

test('missing pods and unready pods are different failures', async () => {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', labels: { app: 'w' } } };
  const scenario = {
    name: 'x',
    nodes: 1,
    seed: 5,
    images: { 'w:1': { exits: { code: 1, after: '1s' } } },
    steps: [
      { apply: config('one') },
      { apply: { ...pod, spec: { containers: [{ name: 'c', image: 'w:1' }] } } },
      { advance: '1m' },
      { expect: { pods: { selector: 'app=w', ready: 1 } } },
    ],
  };
  const small = await shrinkScenario(scenario, (await failing(scenario))!, failing);
  assert.deepEqual(small.steps, [scenario.steps[1], scenario.steps[3]]);
});

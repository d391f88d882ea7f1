import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createNodeClock } from '../../platform/node/clock.ts';
import { createMemoryLog } from '../../platform/sim/log.ts';
import type { Cluster } from '../cluster.ts';
import { runScenario } from '../scenario-run.ts';
import { parseScenario } from '../scenario.ts';
import { openReplay } from './open-replay.ts';
import type { Replay } from './replay-route.ts';

const scenarioOf = (steps: string) => parseScenario(`name: x\nabout: why\nnodes: 2\nsteps:${steps}\n`);
const deps = { clock: createNodeClock(), log: createMemoryLog() };

const STEPS = `
  - apply: { apiVersion: v1, kind: ConfigMap, metadata: { name: first }, data: { turn: "1" } }
  - advance: 2s
  - patch: { object: configmap/first, merge: { data: { turn: "2" } } }
  - crash: node/node-1
  - wait: { for: node/node-1, until: Ready=Unknown }
  - advance: 1m`;

async function read<T>(cluster: Cluster, path: string): Promise<T> {
  const { body } = await cluster.client.raw({ method: 'GET', path });
  return JSON.parse(Buffer.from(body).toString()) as T;
}

const replayed = (cluster: Cluster): Promise<Replay> => read(cluster, '/keelson/v1/simulation/replay');

describe('an opened replay', () => {
  test('is the same run, and has every moment from the first step on', async () => {
    const scenario = scenarioOf(STEPS);
    const { hash, virtualMs } = await runScenario(scenario, 3);
    await using opened = await openReplay(scenario, 3, deps);
    const { cluster, outcome, failure } = opened;
    assert.equal(failure, undefined);
    assert.ok('hash' in outcome);
    assert.deepEqual([outcome.hash, outcome.virtualMs], [hash, virtualMs]);
    const { name, about, seed, marks, ...rest } = await replayed(cluster);
    assert.deepEqual([name, about, seed, rest.failure], ['x', 'why', 3, undefined]);
    const steps = marks.filter(({ kind }) => kind === 'step');
    assert.deepEqual(
      steps.map(({ step, text }) => `${step} ${text.split(' ', 2).join(' ')}`),
      [
        '1 apply: configmap/first',
        '2 advance: 2s',
        '3 patch: {"object":"configmap/first","merge":{"data":{"turn":"2"}}}',
        '4 crash: node/node-1',
        '5 wait: {"for":"node/node-1","until":"Ready=Unknown"}',
        '6 advance: 1m',
      ],
    );
    assert.deepEqual([steps[0]?.afterMs, steps[2]?.afterMs, marks.at(-1)?.kind], [0, 2000, 'passed']);
    assert.ok(marks.some(({ kind, step, text }) => kind === 'note' && step === 4 && text.includes('has no power')));
    const turns: (string | undefined)[] = [];
    for (const { at } of [steps[0]!, steps[2]!]) {
      const path = `/keelson/v1/history/api/v1/namespaces/default/configmaps?at=${encodeURIComponent(at)}`;
      const { items } = await read<{ items: { metadata: { name: string }; data?: { turn: string } }[] }>(cluster, path);
      turns.push(items.find(({ metadata }) => metadata.name === 'first')?.data?.turn);
    }
    assert.deepEqual(turns, ['1', '2']);
  });

  test('is at the moment of the failure, has its message, and can continue', async () => {
    const scenario = scenarioOf(`${STEPS}\n  - expect: { object: configmap/first, path: .data.turn, atLeast: 7 }`);
    const expected = await runScenario(scenario, 3).catch((error: Error) => error.message);
    await using opened = await openReplay(scenario, 3, deps);
    const { cluster, failure } = opened;
    assert.equal(failure?.message, expected);
    const { marks, failure: told } = await replayed(cluster);
    assert.equal(told, expected);
    const last = marks.at(-1)!;
    assert.deepEqual([last.kind, last.step], ['failed', 7]);
    const simulation = await read<{ now: string; clock: { paused: boolean } }>(cluster, '/keelson/v1/simulation');
    assert.deepEqual([simulation.now, simulation.clock.paused], [last.at, true]);
  });

  test('has an API server again when the run left none', async () => {
    await using opened = await openReplay(scenarioOf('\n  - crash: apiserver'), 1, deps);
    assert.equal(opened.serverWasDown, true);
    assert.equal((await replayed(opened.cluster)).marks[0]?.text, 'crash: apiserver');
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodSpec } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createSchedulerCache } from '../cache/scheduler-cache.ts';
import { createNominator } from '../framework/nominations.ts';
import { createProfile } from '../framework/profile.ts';
import { defaultPlugins } from '../plugins/list.ts';
import { HOST, pod, ZONE, zoned } from '../plugins/scene-fixture.ts';
import { testPluginDeps } from '../scheduler-fixture.ts';
import { explainNow } from './explain-nodes.ts';

const NODES = 100;
const PODS_PER_NODE = 30;
/** How often one running pod may be read: a few times by each of the plugins, but not once per node. */
const READS_PER_POD = 12;

const term = (topologyKey: string, labels: Record<string, string>) => ({
  topologyKey,
  labelSelector: { matchLabels: labels },
});
const affinity = (kind: 'podAffinity' | 'podAntiAffinity', ...terms: object[]): Partial<PodSpec> => ({
  affinity: { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
});
const claimed: Partial<PodSpec> = { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] };
const everyNode = (app: string): object[] => [term(ZONE, { app }), term(HOST, { app })];

const profile = createProfile({
  schedulerName: 'default-scheduler',
  plugins: defaultPlugins.map(({ create }) =>
    create(
      testPluginDeps({
        claim: () =>
          ({
            metadata: {
              name: 'data',
              namespace: 'default',
              annotations: { 'pv.kubernetes.io/bind-completed': 'yes' },
            },
            spec: { accessModes: ['ReadWriteOncePod'], volumeName: 'pv' },
          }) as never,
        volume: () => ({ metadata: { name: 'pv' } }) as never,
      }),
    ),
  ),
  weights: Object.fromEntries(defaultPlugins.map(({ name, weight }) => [name, weight])),
});

/** Explains the pod among running ones; counts how often the metadata of pods is read meanwhile. */
async function readsOf(waiting: Stored<Pod>, running: Partial<PodSpec>): Promise<{ reads: number; lacks: string[] }> {
  let reads = 0;
  const counted = (one: Stored<Pod>): Stored<Pod> => {
    const { metadata } = one;
    return Object.defineProperty({ ...one }, 'metadata', { get: () => (reads++, metadata) });
  };
  const cache = createSchedulerCache();
  for (let node = 0; node < NODES; node++) {
    cache.addNode(zoned(`n${node}`, 'z'));
    for (let i = 0; i < PODS_PER_NODE; i++)
      cache.assume(counted(pod(`p${node}-${i}`, { app: 'web' }, running)), `n${node}`);
  }
  const input = { profile, pod: counted(waiting), nominations: createNominator(), clock: new VirtualClock() };
  reads = 0;
  const { nodes } = await explainNow({ ...input, snapshot: cache.snapshot() });
  assert.equal(nodes.length, NODES);
  return { reads, lacks: nodes[0]?.plugins.flatMap(({ lacks = [] }) => lacks) ?? [] };
}

const cases: readonly [string, Stored<Pod>, Partial<PodSpec>, RegExp][] = [
  ['affinity', pod('p', {}, affinity('podAffinity', ...everyNode('none'))), {}, /^no pod that podAffinity asks for/],
  [
    'anti-affinity',
    pod('p', {}, affinity('podAntiAffinity', ...everyNode('web'))),
    {},
    /^podAntiAffinity .* 2999 more$/,
  ],
  [
    'anti-affinity of others',
    pod('p', { app: 'web' }),
    affinity('podAntiAffinity', ...everyNode('web')),
    /^podAntiAffinity .* 2999 more keeps it away$/,
  ],
  ['a claim of one pod', pod('p', {}, claimed), claimed, /^claim data is used by pod .* 2999 more$/],
];
for (const [title, waiting, running, wanted] of cases)
  test(`values that are common to all nodes are computed once: ${title}`, async () => {
    const { reads, lacks } = await readsOf(waiting, running);
    assert.ok(
      lacks.some((text) => wanted.test(text)),
      lacks.join('\n'),
    );
    assert.ok(reads < NODES * PODS_PER_NODE * READS_PER_POD, `${reads} reads of pods`);
  });

/** A clock that advances by a millisecond with every reading; counts the turns of other work. */
function countedTurns() {
  let nowMs = 0;
  let turns = 0;
  const clock = {
    nowMs: () => 0,
    monotonicMs: () => nowMs++,
    yield: () => {
      turns++;
      return Promise.resolve();
    },
  };
  return { clock, turns: () => turns };
}

test('the walk over the nodes leaves others their turn', async () => {
  const cache = createSchedulerCache();
  for (let i = 0; i < NODES; i++) cache.addNode(zoned(`n${i}`, 'z'));
  const { clock, turns } = countedTurns();
  await explainNow({ profile, pod: pod('p'), snapshot: cache.snapshot(), nominations: createNominator(), clock });
  assert.ok(turns() >= NODES / 4, `${turns()} turns for ${NODES} nodes`);
});

const MANY = 200;
const many = (kind: 'podAffinity' | 'podAntiAffinity'): Partial<PodSpec> =>
  affinity(kind, ...Array.from({ length: MANY }, (_, i) => term(ZONE, { app: i === 0 ? 'web' : `other-${i}` })));
const walks: readonly [string, Stored<Pod>, Partial<PodSpec>][] = [
  ['its own terms', pod('p', {}, many('podAntiAffinity')), {}],
  ['pods that could meet its terms', pod('p', {}, many('podAffinity')), {}],
  ['terms of running pods', pod('p', { app: 'web' }), affinity('podAntiAffinity', term(ZONE, { app: 'web' }))],
];
for (const [title, waiting, running] of walks)
  test(`a walk over ${title} on a single node leaves others their turn`, async () => {
    const cache = createSchedulerCache();
    cache.addNode(zoned('n0', 'z'));
    for (let i = 0; i < MANY; i++) cache.assume(pod(`p${i}`, { app: 'web' }, running), 'n0');
    const { clock, turns } = countedTurns();
    const input = { profile, pod: waiting, snapshot: cache.snapshot(), nominations: createNominator(), clock };
    assert.equal((await explainNow(input)).result, 'Unschedulable');
    assert.ok(turns() >= MANY / 4, `${turns()} turns`);
  });

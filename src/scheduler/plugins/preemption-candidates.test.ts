/** Caches of nodes change no choice of victims: random clusters, evaluated with and without caches. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Random } from '../../platform/random.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { createSchedulerCache, type SchedulerCache } from '../cache/scheduler-cache.ts';
import { createNominator, type Nominator } from '../framework/nominations.ts';
import { createProfile } from '../framework/profile.ts';
import { schedulePod } from '../schedule-pod.ts';
import { testNode, testPod } from '../scheduler-fixture.ts';
import { createNodeResourcesFit } from './node-resources-fit/node-resources-fit.ts';
import { createNodeUnschedulable } from './node-unschedulable/node-unschedulable.ts';
import { createCandidateFinder, type CandidateSearch } from './default-preemption/candidates.ts';
import { GuardingBudgets } from './default-preemption/guarding-budgets.ts';

const NODES = 30;

interface World {
  readonly random: Random;
  readonly cache: SchedulerCache;
  readonly nominations: Nominator;
  readonly running: Stored<Pod>[];
  readonly promised: Stored<Pod>[];
}

const cordonedNow = (random: Random) => ({ spec: { unschedulable: random.int(5) === 0 } });

function addNode({ random, cache, running }: World, name: string): void {
  cache.addNode(testNode(name, cordonedNow(random)));
  for (let k = 0; k < 4; k++) {
    const pod = testPod(`${name}-${running.length}-${k}`, { cpu: '1', priority: random.int(4) });
    running.push(pod);
    cache.assume(pod, name);
  }
}

function disturb(world: World, i: number): void {
  const { random, cache, nominations, running, promised } = world;
  const node = `n${random.int(NODES)}`;
  const what = random.int(7);
  if (what === 0) for (const pod of running.splice(random.int(running.length), 1)) cache.removePod(pod);
  if (what === 1) {
    const pod = testPod(`r${i}`, { cpu: '2', priority: random.int(4) });
    running.push(pod);
    cache.assume(pod, node);
  }
  if (what === 2) cache.updateNode(testNode(node, cordonedNow(random)));
  if (what === 3 && random.int(3) === 0) cache.removeNode(node);
  if (what === 4) addNode(world, `m${i}`);
  if (what === 5) {
    const pod = testPod(`w${i}`, { cpu: '2', priority: random.int(4) });
    promised.push(pod);
    nominations.set(pod, node);
  }
  if (what === 6) for (const pod of promised.splice(0, 1)) nominations.delete(pod.metadata.uid);
}

function searchFor(world: World, pod: Stored<Pod>): CandidateSearch | undefined {
  const { cache, nominations, random } = world;
  const state = new Map<string, unknown>();
  const snapshot = cache.snapshot();
  const profile = createProfile({
    schedulerName: 's',
    plugins: [createNodeUnschedulable(), createNodeResourcesFit()],
    weights: {},
    remembers: false,
  });
  const input = { profile, pod, snapshot, random, cursor: { startAt: 0 }, nominations };
  const result = schedulePod(input, state);
  if (result.node !== undefined) return undefined;
  const { statuses } = result.diagnosis;
  const search = {
    pod,
    state,
    filters: result.filters,
    nominations,
    budgets: new GuardingBudgets([]),
    snapshot,
    statuses,
  };
  const offset = random.int(snapshot.nodes.length);
  return { ...search, checkedByExtenders: false, offset, enough: 1 + random.int(NODES) };
}

const likeOf = ({ spec }: Pod) => ({ cpu: '2', priority: spec?.priority ?? 0 });

for (let seed = 1; seed <= 8; seed++)
  test(`seed ${seed}: with memory and without, the same candidates`, () => {
    const random = createSeededRandom(seed);
    const cache = createSchedulerCache();
    const world: World = { random, cache, nominations: createNominator(), running: [], promised: [] };
    for (let i = 0; i < NODES; i++) addNode(world, `n${i}`);
    const remembering = createCandidateFinder();
    let asked = 0;
    let found = 0;
    for (let i = 0; i < 300; i++) {
      disturb(world, i);
      const own = random.int(4) === 0 ? world.promised[0] : undefined;
      const cpu = `${1 + random.int(4)}`;
      // A pod with a nominated node follows another pod of its kind.
      const stranger = testPod(`q${i}`, own === undefined ? { cpu, priority: random.int(5) } : likeOf(own));
      for (const pod of own === undefined ? [stranger] : [stranger, own]) {
        const search = searchFor(world, pod);
        if (search === undefined) continue;
        const given = remembering(search);
        const expected = createCandidateFinder()({ ...search, checkedByExtenders: true });
        assert.deepEqual(given.candidates, expected.candidates, `pod ${i}`);
        assert.deepEqual(Object.fromEntries(given.refused), Object.fromEntries(expected.refused), `pod ${i}`);
        asked++;
        if (given.candidates.length > 0) found++;
      }
    }
    assert.ok(found > 20 && asked - found > 5, `${found} of ${asked}: the test says too little`);
  });

/** Caches change no decision: random clusters and pods, scheduled with and without caches, get the same nodes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodSpec } from '../api/gen/core-v1.ts';
import type { Stored } from '../api/object.ts';
import { stored } from '../api/stored-fixture.ts';
import type { Random } from '../platform/random.ts';
import { createSeededRandom } from '../platform/sim/random.ts';
import { createSchedulerCache, type SchedulerCache } from './cache/scheduler-cache.ts';
import { createProfile, type Profile } from './framework/profile.ts';
import { defaultPlugins } from './plugins/list.ts';
import { schedulePod, type ScheduleResult } from './schedule-pod.ts';
import { testNode, testPluginDeps, testPod } from './scheduler-fixture.ts';

const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';
const weights = Object.fromEntries(defaultPlugins.map(({ name, weight }) => [name, weight]));
const profile = (remembers: boolean): Profile =>
  createProfile({
    schedulerName: 's',
    plugins: defaultPlugins.map(({ create }) =>
      create(testPluginDeps({ namespaceLabels: (name) => ({ team: name }) })),
    ),
    weights,
    remembers,
  });

function randomNode(random: Random, i: number): ReturnType<typeof testNode> {
  const taints = [
    ...(random.int(8) === 0 ? [{ key: 'dedicated', effect: 'NoSchedule' }] : []),
    ...(random.int(8) === 0 ? [{ key: 'slow', effect: 'PreferNoSchedule' }] : []),
  ];
  return testNode(`n${i}`, {
    cpu: String(1 + random.int(4)),
    pods: random.int(6) === 0 ? '1' : '20',
    labels: {
      ...(random.int(10) === 0 ? {} : { [ZONE]: `z${random.int(3)}` }),
      disk: random.int(2) === 0 ? 'ssd' : 'hdd',
    },
    spec: { taints, unschedulable: random.int(12) === 0 },
  });
}

function randomPod(random: Random, i: number): Stored<Pod> {
  const term = (): object => ({
    topologyKey: random.int(2) === 0 ? ZONE : HOST,
    labelSelector: { matchLabels: { app: `a${random.int(3)}` } },
    ...(random.int(4) === 0 ? { namespaceSelector: { matchLabels: { team: 'other' } } } : {}),
  });
  const one = <T>(chances: number, value: () => T): T[] => (random.int(chances) === 0 ? [value()] : []);
  const affinityOf = (): object => ({
    requiredDuringSchedulingIgnoredDuringExecution: one(4, term),
    preferredDuringSchedulingIgnoredDuringExecution: one(2, () => ({
      weight: 1 + random.int(9),
      podAffinityTerm: term(),
    })),
  });
  const spread = (): object => ({
    topologyKey: random.int(2) === 0 ? ZONE : HOST,
    maxSkew: 1 + random.int(3),
    whenUnsatisfiable: random.int(2) === 0 ? 'DoNotSchedule' : 'ScheduleAnyway',
    labelSelector: { matchLabels: { app: `a${random.int(3)}` } },
    ...(random.int(3) === 0 ? { nodeTaintsPolicy: 'Honor' } : {}),
  });
  const spec = {
    ...(random.int(4) === 0 ? { nodeSelector: { disk: 'ssd' } } : {}),
    ...(random.int(4) === 0 ? { tolerations: [{ key: 'dedicated', operator: 'Exists' }] } : {}),
    ...(random.int(3) === 0 ? { affinity: { podAffinity: affinityOf(), podAntiAffinity: affinityOf() } } : {}),
    topologySpreadConstraints: one(3, spread),
  } as Partial<PodSpec>;
  const pod = testPod(`p${i}`, { cpu: `${100 * (1 + random.int(4))}m`, spec });
  const namespace = random.int(5) === 0 ? 'other' : 'default';
  return stored({ ...pod, metadata: { ...pod.metadata, namespace, labels: { app: `a${random.int(3)}` } } });
}

function told(result: ScheduleResult): unknown {
  if (result.node === undefined)
    return [...result.diagnosis.statuses].map(([name, { code, reasons }]) => [name, code, ...reasons]);
  const { scored } = result;
  return { node: result.node, totals: scored?.nodes.map(({ name }, i) => [name, scored.totals[i]]) };
}

/** Something else happens to the cluster now and then. */
function disturb(random: Random, cache: SchedulerCache, placed: Pod[]): void {
  const what = random.int(6);
  if (what === 0 && placed.length > 0) {
    const [pod] = placed.splice(random.int(placed.length), 1);
    cache.removePod(pod as Stored<Pod>);
  } else if (what === 1) cache.updateNode(randomNode(random, random.int(140)));
  else if (what === 2) cache.removeNode(`n${random.int(140)}`);
}

for (let seed = 1; seed <= 12; seed++)
  test(`seed ${seed}: with memory and without, the same decisions`, () => {
    const random = createSeededRandom(seed);
    const cache = createSchedulerCache();
    for (let i = 0; i < 130; i++) cache.addNode(randomNode(random, i));
    const [remembering, plain] = [profile(true), profile(false)];
    const randoms = [createSeededRandom(seed), createSeededRandom(seed)] as const;
    const cursors = [{ startAt: 0 }, { startAt: 0 }] as const;
    const placed: Pod[] = [];
    let scheduled = 0;
    for (let i = 0; i < 150; i++) {
      const pod = randomPod(random, i);
      const [given, expected] = [remembering, plain].map((one, k) =>
        schedulePod(
          {
            profile: one,
            pod,
            // Without caches every cycle gets a new snapshot: plugins cache by snapshot.
            snapshot: k === 0 ? cache.snapshot() : copyOf(cache).snapshot(),
            random: randoms[k as 0],
            cursor: cursors[k as 0],
          },
          new Map(),
        ),
      ) as [ScheduleResult, ScheduleResult];
      assert.deepEqual(told(given), told(expected), `pod ${i}`);
      if (given.node !== undefined) {
        scheduled++;
        cache.assume(pod, given.node);
        placed.push(pod);
      }
      disturb(random, cache, placed);
    }
    assert.ok(scheduled > 20, `only ${scheduled} pods found a node: the test says too little`);
  });

/** The same nodes in the same order, with the same pods, in a cache that is new. */
function copyOf(cache: SchedulerCache): SchedulerCache {
  const copy = createSchedulerCache();
  const { tracker } = cache.snapshot();
  for (const info of cache.nodesInOrder()) copy.addNode(info.node);
  for (const info of tracker.infos) for (const pod of info?.pods.values() ?? []) copy.assume(pod, info?.name ?? '');
  return copy;
}

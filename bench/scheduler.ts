// Pods per second through the scheduling algorithm and the cache, without the API: `node bench/scheduler.ts [nodes …]`.
import type { Pod } from '../src/api/gen/core-v1.ts';
import type { Stored } from '../src/api/object.ts';
import { createSeededRandom } from '../src/platform/sim/random.ts';
import { createSchedulerCache } from '../src/scheduler/cache/scheduler-cache.ts';
import { createProfile } from '../src/scheduler/framework/profile.ts';
import { defaultPlugins } from '../src/scheduler/plugins/list.ts';
import { schedulePod } from '../src/scheduler/schedule-pod.ts';
import { testNode, testPluginDeps, testPod } from '../src/scheduler/scheduler-fixture.ts';

const PODS = 2000;
const apart = {
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'x' } } },
    ],
  },
};
const spread = [
  {
    topologyKey: 'topology.kubernetes.io/zone',
    maxSkew: 1,
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: { app: 'x' } },
  },
];

const kinds: readonly { name: string; pod: (i: number) => Stored<Pod> }[] = [
  { name: 'plain', pod: (i) => testPod(`p${i}`, { cpu: '10m', memory: '10Mi' }) },
  {
    name: 'spread over zones',
    pod: (i) => labelled(testPod(`p${i}`, { cpu: '10m', spec: { topologySpreadConstraints: spread } })),
  },
  { name: 'apart by host', pod: (i) => labelled(testPod(`p${i}`, { cpu: '10m', spec: { affinity: apart } })) },
];

function labelled(pod: Stored<Pod>): Stored<Pod> {
  return { ...pod, metadata: { ...pod.metadata, labels: { app: 'x' } } };
}

function run(nodes: number, pod: (i: number) => Stored<Pod>): string {
  const plugins = defaultPlugins.map(({ create }) => create(testPluginDeps()));
  const profile = createProfile({
    schedulerName: 'default-scheduler',
    plugins,
    weights: Object.fromEntries(defaultPlugins.map(({ weight }, i) => [plugins[i]?.name ?? '', weight])),
  });
  const cache = createSchedulerCache();
  for (let i = 0; i < nodes; i++)
    cache.addNode(testNode(`n${i}`, { labels: { 'topology.kubernetes.io/zone': `z${i % 3}` } }));
  const random = createSeededRandom(1);
  const cursor = { startAt: 0 };
  let placed = 0;
  const start = process.cpuUsage();
  for (let i = 0; i < PODS; i++) {
    const made = pod(i);
    const result = schedulePod({ profile, pod: made, snapshot: cache.snapshot(), random, cursor }, new Map());
    if (result.node === undefined) continue;
    placed++;
    cache.assume(made, result.node);
  }
  // Processor time, so that other work on the machine does not count.
  const used = process.cpuUsage(start);
  const seconds = (used.user + used.system) / 1e6;
  return `${Math.round(PODS / seconds)} pods per processor second (${placed} of ${PODS} placed)`;
}

for (const nodes of process.argv.length > 2 ? process.argv.slice(2).map(Number) : [1000, 5000]) {
  for (const { name, pod } of kinds) console.log(`${nodes} nodes, ${name}: ${run(nodes, pod)}`);
}

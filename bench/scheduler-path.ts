// Pods per second from created to bound, with API server, store and scheduler in this process: node bench/scheduler-path.ts
// [--store memory|sqlite] [--scale 0.1] [workload …]. `--scale` reduces nodes and pods alike.
import { parseArgs } from 'node:util';
import { Nodes, Pods, PriorityClasses, ServiceAccounts } from '../src/api/gen/resources.ts';
import type { Pod, PodSpec } from '../src/api/gen/core-v1.ts';
import type { Client } from '../src/client/client.ts';
import { eachOf, startControlPlane } from './run/control-plane.ts';

const { values: options, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { store: { type: 'string', default: 'memory' }, scale: { type: 'string', default: '1' } },
});
const scale = Number(options.scale);
const HOSTNAME = 'kubernetes.io/hostname';
const ZONE = 'topology.kubernetes.io/zone';

interface Workload {
  readonly goal: number;
  readonly nodes: number;
  readonly pods: number;
  /** Pods per node that run before the measurement. */
  readonly before?: number;
  readonly spec: (index: number) => Partial<PodSpec>;
  readonly labels?: Record<string, string>;
}

const matching = { labelSelector: { matchLabels: { app: 'x' } } };
const small = { resources: { requests: { cpu: '100m', memory: '500Mi' } } };
const plain = (): Partial<PodSpec> => ({ containers: [{ name: 'c', image: 'pause', ...small }] });
const tiny = (affinity: PodSpec['affinity']): Partial<PodSpec> => ({
  containers: [{ name: 'c', image: 'pause' }],
  ...(affinity && { affinity }),
});
const workloads: Readonly<Record<string, Workload>> = {
  'plain-1000': { goal: 1500, nodes: 1000, pods: 10_000, spec: plain },
  'plain-5000': { goal: 1000, nodes: 5000, pods: 10_000, spec: plain },
  'anti-affinity-5000': {
    goal: 200,
    nodes: 5000,
    pods: 2000,
    labels: { app: 'x' },
    spec: () =>
      tiny({
        podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: HOSTNAME, ...matching }] },
      }),
  },
  'preferred-affinity-5000': {
    goal: 200,
    nodes: 5000,
    pods: 5000,
    labels: { app: 'x' },
    spec: () =>
      tiny({
        podAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, podAffinityTerm: { topologyKey: HOSTNAME, ...matching } },
          ],
        },
      }),
  },
  'spread-5000': {
    goal: 500,
    nodes: 5000,
    pods: 5000,
    labels: { app: 'x' },
    spec: () => ({
      ...tiny(undefined),
      topologySpreadConstraints: [{ maxSkew: 5, topologyKey: ZONE, whenUnsatisfiable: 'DoNotSchedule', ...matching }],
    }),
  },
  'daemonset-15000': {
    goal: 1500,
    nodes: 15_000,
    pods: 15_000,
    spec: (index) =>
      tiny({
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [`n${index}`] }] }],
          },
        },
      }),
  },
  'preemption-5000': {
    goal: 500,
    nodes: 5000,
    pods: 5000,
    before: 4,
    spec: () => ({
      containers: [{ name: 'c', image: 'pause', resources: { requests: { cpu: '3' } } }],
      priorityClassName: 'high',
    }),
  },
};

function podOf(name: string, spec: Partial<PodSpec>, labels: Record<string, string> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels },
    spec: { containers: [], terminationGracePeriodSeconds: 0, ...spec },
  };
}

async function fill(admin: Client, { before = 0 }: Workload, nodeCount: number): Promise<void> {
  await admin
    .resource(ServiceAccounts)
    .create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: 'default' } });
  await admin
    .resource(PriorityClasses)
    .create({ apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: 'high' }, value: 100 });
  const allocatable = { cpu: '4', memory: '32Gi', pods: '110' };
  const nodes = admin.resource(Nodes);
  await eachOf(nodeCount, async (i) => {
    const labels = { [HOSTNAME]: `n${i}`, [ZONE]: `z${i % 3}` };
    const made = await nodes.create({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `n${i}`, labels },
      status: { allocatable, capacity: allocatable },
    });
    const { taints: _, ...spec } = made.spec ?? {};
    await nodes.update({ ...made, spec });
  });
  const running = { containers: [{ name: 'c', image: 'pause', resources: { requests: { cpu: '900m' } } }] };
  await eachOf(nodeCount * before, (i) =>
    admin.resource(Pods).create(podOf(`low-${i}`, { ...running, nodeName: `n${i % nodeCount}` })),
  );
}

async function run(name: string, workload: Workload): Promise<void> {
  const bench = await startControlPlane(options.store);
  const { controlPlane, platform, signal } = bench;
  const { admin, server } = controlPlane;
  const nodeCount = Math.round(workload.nodes * scale);
  const podCount = Math.round(workload.pods * scale);
  await fill(admin, workload, nodeCount);
  await controlPlane.startScheduler(signal);
  let bound = 0;
  const all = Promise.withResolvers<void>();
  server.objects.onChange(Pods, (pod, old) => {
    if (pod?.spec?.nodeName === undefined || old === undefined || old.spec?.nodeName !== undefined) return;
    if (++bound === podCount) all.resolve();
  });
  const [startMs, startCpu] = [performance.now(), process.cpuUsage()];
  await eachOf(podCount, (i) => admin.resource(Pods).create(podOf(`p${i}`, workload.spec(i), workload.labels)));
  const createdMs = performance.now() - startMs;
  const limit = setTimeout(() => all.reject(new Error(`${bound} of ${podCount} bound`)), 300_000);
  await all.promise.catch((error: Error) => console.log(`${name}: ${error.message}`));
  clearTimeout(limit);
  const seconds = (performance.now() - startMs) / 1000;
  const { user, system } = process.cpuUsage(startCpu);
  const algorithm = Number(
    /^scheduler_scheduling_algorithm_duration_seconds_sum\S* (\S+)/m.exec(await platform.metrics.expose())?.[1] ?? 0,
  );
  const cpuSeconds = (user + system) / 1e6;
  console.log(
    `${name.padEnd(26)} ${options.store.padEnd(7)} ${nodeCount} nodes, ${podCount} pods: ${Math.round(podCount / seconds)} pods/s (goal ${workload.goal}), ${Math.round(podCount / cpuSeconds)} per processor second; created after ${(createdMs / 1000).toFixed(1)} s of ${seconds.toFixed(1)} s, algorithm ${algorithm.toFixed(1)} s, ${Math.round(process.memoryUsage().rss / 1e6)} MB`,
  );
  await bench.stop();
}

for (const [name, workload] of Object.entries(workloads))
  if (wanted.length === 0 || wanted.includes(name)) await run(name, workload);
process.exit(0);

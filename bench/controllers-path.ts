// Controllers with API server and store in this process: a Deployment on simulated nodes, the deletion of a full namespace, and
// the cost of a large idle cluster: node bench/controllers-path.ts [--store memory|sqlite] [--scale 0.1] [workload …]
import { parseArgs } from 'node:util';
import { ConfigMaps, Deployments, Leases, Namespaces, Nodes, Pods, ServiceAccounts } from '../src/api/gen/resources.ts';
import { formatMicroTime, formatTime } from '../src/api/time.ts';
import type { Client } from '../src/client/client.ts';
import { Cluster } from '../src/testing/index.ts';
import { eachOf, startControlPlane } from './run/control-plane.ts';

const { values: options, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { store: { type: 'string', default: 'memory' }, scale: { type: 'string', default: '1' } },
});
const scale = Number(options.scale);
const scaled = (count: number): number => Math.max(1, Math.round(count * scale));
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const LIMIT_MS = 300_000;

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function report(name: string, { seconds, goal, detail }: { seconds: number; goal: number; detail: string }): void {
  const verdict = scale === 1 ? (seconds <= goal ? 'met' : 'missed') : `at ${scale} of the size`;
  console.log(
    `${name.padEnd(18)} ${seconds.toFixed(1)} s (goal ${goal} s: ${verdict}); ${detail}, ${Math.round(process.memoryUsage().rss / 1e6)} MB`,
  );
}

/** The time from zero to all replicas Ready, on nodes with simulated kubelets. */
async function deployment(): Promise<void> {
  const replicas = scaled(5000);
  const cluster = await Cluster.start({ clock: 'real', nodes: 0 });
  await cluster.nodes.addMany(Array.from({ length: Math.max(1, Math.round(replicas / 50)) }, () => ({})));
  const labels = { app: 'web' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web:1' }] } };
  const object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' } };
  const [startMs, startCpu] = [performance.now(), cpuSeconds()];
  await cluster.apply({ ...object, spec: { replicas, selector: { matchLabels: labels }, template } });
  const ready = (): number => cluster.peek(Deployments)[0]?.status?.readyReplicas ?? 0;
  while (ready() < replicas && performance.now() - startMs < LIMIT_MS) await wait(20);
  const seconds = (performance.now() - startMs) / 1000;
  const detail = `${ready()} of ${replicas} replicas Ready, kubelets included ${(cpuSeconds() - startCpu).toFixed(1)} s of processor`;
  report('deployment', { seconds, goal: 10, detail });
  await cluster.stop();
}

/** The deletion of a namespace with 10,000 config maps. */
async function namespace(): Promise<void> {
  const count = scaled(10_000);
  const bench = await startControlPlane(options.store);
  const { controlPlane, signal } = bench;
  const { admin } = controlPlane;
  const ended = controlPlane.runControllers(signal);
  await admin.resource(Namespaces).create({ metadata: { name: 'full' } });
  const maps = admin.resource(ConfigMaps);
  const data = { key: 'x'.repeat(200) };
  await eachOf(count, (i) => maps.create({ metadata: { namespace: 'full', name: `m${i}` }, data }));
  const before = (await maps.list({ namespace: 'full' })).items.length;
  if (before < count) throw new Error(`only ${before} objects were made`);
  await wait(1000);
  const [startMs, startCpu] = [performance.now(), cpuSeconds()];
  await admin.resource(Namespaces).delete({ name: 'full' });
  const there = async (): Promise<boolean> =>
    (await admin.resource(Namespaces).list()).items.some(({ metadata }) => metadata.name === 'full');
  while ((await there()) && performance.now() - startMs < LIMIT_MS) await wait(20);
  const seconds = (performance.now() - startMs) / 1000;
  const left = (await maps.list({ namespace: 'full' })).items.length;
  if (left > 0) throw new Error(`${left} objects are left`);
  report('namespace', {
    seconds,
    goal: 10,
    detail: `${count} objects, ${(cpuSeconds() - startCpu).toFixed(1)} s of processor`,
  });
  await bench.stop();
  await ended;
}

const LEASE_SECONDS = 40;

async function fillRunning(admin: Client, nodes: number, pods: number): Promise<void> {
  await admin.resource(ServiceAccounts).create({ metadata: { name: 'default', namespace: 'default' } });
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: formatTime(Date.now()) }];
  const amounts = { cpu: '16', memory: '64Gi', pods: '110' };
  await eachOf(nodes, async (i) => {
    const made = await admin
      .resource(Nodes)
      .create({ metadata: { name: `n${i}` }, status: { conditions, allocatable: amounts, capacity: amounts } });
    const { taints: _, ...spec } = made.spec ?? {};
    await admin.resource(Nodes).update({ ...made, spec });
    await admin.resource(Leases).create({
      metadata: { name: `n${i}`, namespace: 'kube-node-lease' },
      spec: { holderIdentity: `n${i}`, leaseDurationSeconds: LEASE_SECONDS, renewTime: formatMicroTime(Date.now()) },
    });
  });
  await eachOf(pods, async (i) => {
    const key = { name: `p${i}`, namespace: 'default' };
    const spec = { nodeName: `n${i % nodes}`, containers: [{ name: 'c', image: 'pause' }] };
    const made = await admin.resource(Pods).create({ metadata: { ...key, labels: { app: `a${i % 500}` } }, spec });
    await admin.resource(Pods).updateStatus({ ...made, status: { ...made.status, phase: 'Running', conditions } });
  });
}

/** 5,000 nodes and 50,000 pods at rest. The kubelets' leases, renewed every ten seconds, are counted, too. */
async function atRest(): Promise<void> {
  const [nodes, pods] = [scaled(5000), scaled(50_000)];
  const bench = await startControlPlane(options.store);
  const { controlPlane, signal } = bench;
  const { admin } = controlPlane;
  await fillRunning(admin, nodes, pods);
  let next = 0;
  const renew = setInterval(() => {
    for (let i = 0; i < nodes / 100; i++) {
      const name = `n${next++ % nodes}`;
      const patch = { spec: { renewTime: formatMicroTime(Date.now()) } };
      void admin.resource(Leases).patch({ name, namespace: 'kube-node-lease' }, { type: 'merge', patch });
    }
  }, 100);
  const ended = controlPlane.runControllers(signal);
  await controlPlane.startScheduler(signal);
  await wait(30_000);
  const [startMs, startCpu] = [performance.now(), cpuSeconds()];
  await wait(30_000);
  const share = (100 * (cpuSeconds() - startCpu)) / ((performance.now() - startMs) / 1000);
  const verdict = scale === 1 ? (share <= 20 ? 'met' : 'missed') : `at ${scale} of the size`;
  clearInterval(renew);
  console.log(
    `at-rest            ${nodes} nodes, ${pods} pods: ${share.toFixed(1)} % of a core (goal 20 %: ${verdict}), ${Math.round(process.memoryUsage().rss / 1e6)} MB`,
  );
  await bench.stop();
  await ended;
}

const workloads: Readonly<Record<string, () => Promise<void>>> = { deployment, namespace, 'at-rest': atRest };
for (const [name, run] of Object.entries(workloads)) if (wanted.length === 0 || wanted.includes(name)) await run();
process.exit(0);

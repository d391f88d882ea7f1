// Benchmarks of keelson/testing: start of a cluster, many clusters at once, an hour at rest, a big Deployment, a month of a
// CronJob. 5,000 nodes: bench/sim-scale.ts.
// node bench/sim.ts [small] [dist]      `small` leaves out what takes long, `dist` measures the bundle. Measure on a quiet
// machine; CPU time is printed too.
import { performance } from 'node:perf_hooks';

const importStartMs = performance.now();
const built = process.argv.includes('dist');
const { Cluster, image } = (await import(
  built ? new URL('../dist/testing.js', import.meta.url).href : '../src/testing/index.ts'
)) as typeof import('../src/testing/index.ts');
const importMs = performance.now() - importStartMs;

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
const rssMb = (): number => process.memoryUsage().rss / 1e6;

async function measure<T>(what: string, work: () => Promise<T>): Promise<T> {
  const [startMs, startCpuMs] = [performance.now(), cpuMs()];
  const result = await work();
  console.log(
    `${what.padEnd(56)} ${(performance.now() - startMs).toFixed(0).padStart(7)} ms   ${(cpuMs() - startCpuMs).toFixed(0).padStart(7)} ms CPU   ${rssMb().toFixed(0).padStart(5)} MB`,
  );
  return result;
}

const deployment = (replicas: number): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
  },
});

console.log(`import${' '.repeat(50)} ${importMs.toFixed(0).padStart(7)} ms`);
const first = await measure('first Cluster.start, 1 node, all controllers', () => Cluster.start());
await first.stop();
for (let time = 0; time < 20; time++) await (await Cluster.start()).stop();
const warm = await measure('Cluster.start after 20 others', () => Cluster.start());
await warm.stop();

{
  const cluster = await Cluster.start({ nodes: 3 });
  await cluster.apply(deployment(50));
  await measure('50 pods on 3 nodes Available', () => cluster.waitFor('deployment/web', 'Available'));
  await cluster.advance('10m');
  await measure('one virtual hour of 3 nodes and 50 pods at rest', () => cluster.advance('1h'));
  await cluster.stop();
}
{
  const cluster = await measure('Cluster.start, 100 nodes', () => Cluster.start({ nodes: 100 }));
  await measure('Deployment of 1,000 replicas on 100 nodes Available', async () => {
    await cluster.apply(deployment(1000));
    await cluster.waitFor('deployment/web', '.status.availableReplicas=1000');
  });
  await cluster.stop();
}
if (!process.argv.includes('small')) {
  const task = { restartPolicy: 'Never', containers: [{ name: 'task', image: 'task:1' }] };
  const cluster = await Cluster.start({ images: [image('task:1', { exits: { code: 0, after: '1m' } })] });
  await cluster.apply({
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'nightly' },
    spec: { schedule: '0 3 * * *', jobTemplate: { spec: { template: { spec: task } } } },
  });
  await measure('a virtual day of one nightly CronJob, 1 node', () => cluster.advance('1d'));
  await measure('a virtual month of it', () => cluster.advance('30d'));
  await cluster.stop();
}
if (!process.argv.includes('small')) {
  const before = rssMb();
  const clusters = await measure('100 clusters at once, 1 node each', () =>
    Promise.all(Array.from({ length: 100 }, () => Cluster.start())),
  );
  globalThis.gc?.();
  console.log(`  ${(rssMb() - before).toFixed(0)} MB more for 100 clusters`);
  await Promise.all(clusters.map((cluster) => cluster.stop()));
}

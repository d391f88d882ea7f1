// Scale of the simulation: so many nodes and pods in one process, kubelets and heartbeats included, first brought up on
// virtual time, then kept up on real time for a while.
// node bench/sim-scale.ts [nodes] [pods]      default 5,000 and 50,000; node --expose-gc gives the memory that is held
import { performance } from 'node:perf_hooks';
import { Cluster } from '../src/testing/index.ts';

const [nodes = 5000, pods = 50_000] = process.argv.slice(2).map(Number);
const PER_DEPLOYMENT = 1000;
const WATCHED_SECONDS = 60;

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

function heldMb(): string {
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  return `${(rss / 1e6).toFixed(0)} MB resident, ${(heapUsed / 1e6).toFixed(0)} MB heap, ${(external / 1e6).toFixed(0)} MB buffers`;
}

async function measure(what: string, work: () => Promise<unknown>): Promise<void> {
  const [startMs, startCpuMs] = [performance.now(), cpuMs()];
  await work();
  const [tookMs, usedMs] = [performance.now() - startMs, cpuMs() - startCpuMs];
  console.log(`${what.padEnd(48)} ${(tookMs / 1000).toFixed(1)} s   ${(usedMs / 1000).toFixed(1)} s CPU   ${heldMb()}`);
}

function deployment(name: string, replicas: number): object {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'app', image: 'app:1' }] } },
    },
  };
}

const clock = process.env['KEELSON_BENCH_CLOCK'] === 'real' ? 'real' : 'virtual';
const cluster = await Cluster.start({ clock, nodes: 0 });
await measure(`${nodes} nodes Ready`, () => cluster.nodes.addMany(Array.from({ length: nodes }, () => ({}))));
await measure(`${pods} pods running`, async () => {
  for (let left = pods, index = 0; left > 0; left -= PER_DEPLOYMENT, index++) {
    const replicas = Math.min(PER_DEPLOYMENT, left);
    await cluster.apply(deployment(`app-${index}`, replicas));
    await cluster.waitFor(`deployment/app-${index}`, `.status.availableReplicas=${replicas}`, { within: '1h' });
  }
});
await measure(`${WATCHED_SECONDS} s of ${clock} time at rest`, () => cluster.advance(`${WATCHED_SECONDS}s`));
await cluster.stop();

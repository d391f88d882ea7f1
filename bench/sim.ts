// Benchmarks of keelson/testing beside their goals, each part in a separate process: start, many clusters at once, an idle hour,
// a big Deployment, a month of a CronJob, thousands of nodes.
//
//   node bench/sim.ts [--quick] [--sources] [--nodes N] [--pods N] [PART...]
// Parts are those of `parts` below; without any all run, with `--quick` those of a few seconds. The bundle is measured (build it
// first), or the sources. Processor times are compared with the goals, because other work on the machine affects them least.
import { spawn } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';

type Library = typeof import('../src/testing/index.ts');

interface Measured {
  readonly wallMs: number;
  readonly cpuMs: number;
}

interface Part {
  readonly quick: boolean;
  run(load: () => Promise<Library>): Promise<void>;
}

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    sources: { type: 'boolean', default: false },
    /** Set in the processes of parts. */
    child: { type: 'boolean', default: false },
    nodes: { type: 'string', default: '5000' },
    pods: { type: 'string', default: '50000' },
  },
});

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

async function measure<T>(work: () => Promise<T>): Promise<Measured & { readonly result: T }> {
  const [startMs, startCpuMs] = [performance.now(), cpuMs()];
  const result = await work();
  return { result, wallMs: performance.now() - startMs, cpuMs: cpuMs() - startCpuMs };
}

function report(what: string, shown: string, verdict?: { readonly goal: string; readonly met: boolean }): void {
  const judged = verdict === undefined ? '' : `  goal ${verdict.goal.padEnd(12)} ${verdict.met ? 'met' : 'MISSED'}`;
  console.log(`${what.padEnd(52)} ${shown.padStart(34)}${judged}`);
}

function reportTime(what: string, { wallMs, cpuMs: usedMs }: Measured, goalMs?: number): void {
  const text = (ms: number): string => (ms < 10_000 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(1)} s`);
  const shown = `${text(usedMs)} CPU, ${text(wallMs)}`;
  if (goalMs === undefined) report(what, shown);
  else report(what, shown, { goal: `<= ${text(goalMs)}`, met: usedMs <= goalMs });
}

/** The memory held after one ordinary collection, which is compared with the goal, and the resident memory then. */
function reportMemory(what: string, goalMb?: number): number {
  globalThis.gc?.();
  const { rss, heapUsed, arrayBuffers } = process.memoryUsage();
  const heldMb = (heapUsed + arrayBuffers) / 1e6;
  const shown = `${heldMb.toFixed(0)} MB held, ${(rss / 1e6).toFixed(0)} resident`;
  if (goalMb === undefined) report(what, shown);
  else report(what, shown, { goal: `<= ${goalMb} MB`, met: heldMb <= goalMb });
  return heldMb;
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

const parts: Readonly<Record<string, Part>> = {
  import: {
    quick: true,
    run: async (load) => reportTime('import of keelson/testing', await measure(load), 100),
  },
  start: {
    quick: true,
    async run(load) {
      const { Cluster } = await load();
      const first = await measure(() => Cluster.start());
      reportTime('first Cluster.start, 1 node, all controllers', first, 100);
      await first.result.stop();
      for (let time = 0; time < 20; time++) await (await Cluster.start()).stop();
      const warm = await measure(() => Cluster.start());
      reportTime('Cluster.start after 20 others', warm, 50);
      await warm.result.stop();
    },
  },
  fork: {
    quick: true,
    async run(load) {
      const { Cluster } = await load();
      await using warmed = await Cluster.start();
      await warmed.apply(deployment('web', 3));
      await warmed.waitFor('deployment/web', 'Available');
      for (let time = 0; time < 20; time++) await (await warmed.fork()).stop();
      const times: Measured[] = [];
      for (let time = 0; time < 20; time++) {
        const { result, ...one } = await measure(() => warmed.fork());
        times.push(one);
        await result.stop();
      }
      const [middle] = times.toSorted((a, b) => a.cpuMs - b.cpuMs).slice(times.length / 2);
      reportTime('a fork of a cluster with 3 pods, after 20 others', middle!, 10);
    },
  },
  hour: {
    quick: true,
    async run(load) {
      const { Cluster } = await load();
      await using cluster = await Cluster.start({ nodes: 3 });
      await cluster.apply(deployment('web', 50));
      await cluster.waitFor('deployment/web', 'Available');
      await cluster.advance('1h');
      reportTime('a virtual hour of 3 nodes and 50 pods', await measure(() => cluster.advance('1h')), 1000);
    },
  },
  deployment: {
    quick: true,
    async run(load) {
      const { Cluster } = await load();
      await using cluster = await Cluster.start({ nodes: 100 });
      const rolled = await measure(async () => {
        await cluster.apply(deployment('web', 1000));
        await cluster.waitFor('deployment/web', '.status.availableReplicas=1000');
      });
      reportTime('1,000 replicas on 100 nodes Available', rolled, 2500);
    },
  },
  clusters: {
    quick: false,
    async run(load) {
      const { Cluster } = await load();
      const started = await measure(() => Promise.all(Array.from({ length: 100 }, () => Cluster.start())));
      reportTime('100 clusters of 1 node, one after another', started);
      reportMemory('100 clusters at once', 1500);
      await Promise.all(started.result.map((cluster) => cluster.stop()));
    },
  },
  month: {
    quick: false,
    async run(load) {
      const { Cluster, image } = await load();
      const task = { restartPolicy: 'Never', containers: [{ name: 'task', image: 'task:1' }] };
      await using cluster = await Cluster.start({ images: [image('task:1', { exits: { code: 0, after: '1m' } })] });
      await cluster.apply({
        apiVersion: 'batch/v1',
        kind: 'CronJob',
        metadata: { name: 'nightly' },
        spec: { schedule: '0 3 * * *', jobTemplate: { spec: { template: { spec: task } } } },
      });
      reportTime('a virtual month of a nightly CronJob, 1 node', await measure(() => cluster.advance('30d')), 25_000);
    },
  },
  scale: {
    quick: false,
    async run(load) {
      const { Cluster } = await load();
      const [nodes, pods] = [Number(options.nodes), Number(options.pods)];
      const share = Math.max(nodes / 5000, pods / 50_000);
      await using cluster = await Cluster.start({ nodes: 0 });
      const added = await measure(() => cluster.nodes.addMany(Array.from({ length: nodes }, () => ({}))));
      reportTime(`${nodes} nodes Ready`, added);
      reportMemory(`${nodes} nodes`);
      const running = await measure(async () => {
        for (let left = pods, index = 0; left > 0; left -= 1000, index++) {
          const replicas = Math.min(1000, left);
          const name = `app-${index}`;
          await cluster.apply(deployment(name, replicas));
          await cluster.waitFor(`deployment/${name}`, `.status.availableReplicas=${replicas}`, { within: '1h' });
        }
      });
      reportTime(`${pods} pods running`, running);
      reportMemory(`${nodes} nodes and ${pods} pods`, Math.round(3000 * share));
      const minute = await measure(() => cluster.advance('1m'));
      reportTime('a virtual minute of them at rest (60 % of a core)', minute, 36_000 * share);
      // By then, the starts that are kept for resuming watches have expired.
      await cluster.advance('1m');
      reportMemory('the same, at rest', Math.round(3000 * share));
      // In addition to the compared figure: unused buffers count until they are swept.
      reportMemory('the same, after a second collection');
      // A graceful stop of this many takes longer than the measurement.
      process.exit(0);
    },
  },
};

function runPart(name: string): Promise<number> {
  const flags = ['--expose-gc', '--max-old-space-size=12000', import.meta.filename, '--child', name];
  if (options.sources) flags.push('--sources');
  const child = spawn(process.execPath, [...flags, '--nodes', options.nodes, '--pods', options.pods], {
    stdio: 'inherit',
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

const load = async (): Promise<Library> =>
  (await import(
    options.sources ? '../src/testing/index.ts' : new URL('../dist/testing.js', import.meta.url).href
  )) as Library;

const wanted =
  positionals.length > 0 ? positionals : Object.keys(parts).filter((name) => !options.quick || parts[name]!.quick);
for (const name of wanted) {
  if (parts[name] === undefined) throw new Error(`no part ${name}; there are ${Object.keys(parts).join(', ')}`);
  if (options.child) await parts[name].run(load);
  else if ((await runPart(name)) !== 0) process.exitCode = 1;
}

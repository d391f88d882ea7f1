// `npm run bench`: Keelson's figures on this machine, beside the goals and upstream's figures. A new cluster in a temporary
// directory, started from the bundle, is measured part by part and removed.
//
//   npm run bench -- [--quick] [--json] [--deployment] [--only idle,demo,api,wrk,watch,list,pods,pods80,kubelet,pods500,stored]
import { join } from 'node:path';

import { build } from '../tools/build.ts';
import { repositoryRoot } from '../tools/repository.ts';
import { clusterStatus } from '../tools/up/cluster.ts';
import { provideImage } from '../tools/up/demo.ts';
import { output } from './run/child-output.ts';
import { criFloor } from './run/cri-floor.ts';
import { createBenchInstance, type BenchInstance } from './run/instance.ts';
import { demoByNameMs, removeDemo } from './run/demo.ts';
import { readOptions, type BenchOptions } from './run/options.ts';
import { loneKubeletFigures } from './run/lone-kubelet.ts';
import { listFigures, storedFigures } from './run/many-objects.ts';
import { onePod, podsAtOnce, scaleDeployment, type PodTimes } from './run/pods.ts';
import { memoryTogetherMb, sampleProcesses } from './run/processes.ts';
import { readyToReachableMs } from './run/reachable.ts';
import { describeMachine, json, table, type Figure } from './run/report.ts';
import { median, sleep } from './run/wait.ts';
import { wrkRates } from './run/wrk.ts';

interface Bench {
  readonly options: BenchOptions;
  readonly instance: BenchInstance;
  readonly figures: Figure[];
  readonly add: (key: string, what: string, value: readonly [number, Figure['unit']]) => void;
}

const limitMs = { quick: 180_000, full: 900_000 };
const WAVES = 10;
const WAVE_PODS = 50;

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (process.getuid?.() !== 0) throw new Error('real pods need root');
  const machine = describeMachine();
  await build(repositoryRoot);
  const instance = await createBenchInstance(options.up, options.nodeArgs);
  const figures: Figure[] = [];
  const bench: Bench = {
    options,
    instance,
    figures,
    add: (key, what, [value, unit]) => figures.push({ key, what, value, unit }),
  };
  const limit = setTimeout(
    () => void end(new Error('the benchmark takes too long')),
    options.quick ? limitMs.quick : limitMs.full,
  );
  const end = async (reason: Error): Promise<void> => {
    console.error(`bench: ${reason.message}`);
    await instance.remove();
    process.exit(1);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end(new Error(signal)));
  try {
    if (options.only.length === 0 || options.only.some((part) => part !== 'kubelet')) await measure(bench);
    if (wantedLong(options, 'kubelet')) figures.push(...(await loneKubeletFigures({ pods: 80, quick: options.quick })));
  } finally {
    clearTimeout(limit);
    await instance.remove();
  }
  console.log(options.json ? json(machine, figures) : table(machine, figures));
}

/** Long parts run in a complete run, or when named. */
function wantedLong({ only, quick }: BenchOptions, part: 'pods80' | 'kubelet'): boolean {
  return only.length === 0 ? !quick : only.includes(part);
}

async function measure(bench: Bench): Promise<void> {
  const { options, instance, figures, add } = bench;
  const wanted = (part: string): boolean => options.only.length === 0 || options.only.includes(part);
  const groups = [
    ...(wanted('pods') ? [{ key: 'many', count: options.pods }] : []),
    ...(wantedLong(options, 'pods80') ? [{ key: 'eighty', count: 80 }] : []),
  ];
  const fresh = await instance.start();
  add('freshApiReady', 'start, fresh directory, to API ready', [fresh.apiReadyMs, 'ms']);
  add('freshNodeReady', 'start, fresh directory, to node Ready', [fresh.nodeReadyMs, 'ms']);
  if (wanted('idle')) await measureIdle(bench, 'idle');
  if (wanted('demo')) await measureDemo(bench, fresh.nodeReadyMs);
  if (wanted('api')) await measureLoad(bench, 'api');
  if (wanted('watch')) await measureLoad(bench, 'watch');
  if (wanted('wrk')) await measureWrk(bench);
  if (wanted('list')) figures.push(...(await listFigures(instance, options.quick ? 2000 : 8000)));
  if (options.only.includes('stored')) figures.push(...(await storedFigures(instance)));
  const { containerdSocket } = await clusterStatus(instance.dataDir);
  const measured = await measurePods(bench, containerdSocket, groups);
  if (options.only.includes('pods500')) await measureWaves(bench);
  if (wanted('idle')) await measureIdle(bench, 'worked');
  await instance.stop();
  await measureFloor(bench, containerdSocket, measured);
  await sleep(1100); // Heartbeats are in whole seconds, and those of the second start must be later.
  const second = await instance.start();
  add('secondApiReady', 'start, second, to API ready', [second.apiReadyMs, 'ms']);
  add('secondNodeReady', 'start, second, to node Ready', [second.nodeReadyMs, 'ms']);
}

async function measureDemo({ options, instance, add }: Bench, nodeReadyMs: number): Promise<void> {
  const demoMs = await demoByNameMs(instance.client(), instance.dataDir);
  add('demoByName', "start, fresh directory, to the demo's Service answering by name", [nodeReadyMs + demoMs, 'ms']);
  await removeDemo(instance.client());
  const times = await readyToReachableMs(instance, options.quick ? 5 : 20);
  add('reachable', 'an endpoint Ready, until its Service reaches it, median', [median(times), 'ms']);
  add('reachableMost', '  the longest', [Math.max(...times), 'ms']);
}

const idleLabels = { idle: 'idle, fresh', worked: 'idle, after work', pods500: 'idle, after 500 pods' };

async function measureIdle({ options, instance, add }: Bench, when: keyof typeof idleLabels): Promise<void> {
  const label = idleLabels[when];
  // After work, memory is released at the first idle check, every 10 s; V8's own reducer follows 8 s after that.
  await sleep(options.quick ? 1000 : when === 'idle' ? 5000 : 40_000);
  const seconds = options.quick ? 4 : when === 'idle' ? 20 : 10;
  const processes = await sampleProcesses({ pid: instance.pid(), dataDir: instance.dataDir }, seconds * 1000);
  add(`${when}Memory`, `${label}: memory, shared files once`, [memoryTogetherMb(processes), 'MB']);
  for (const { name, residentMb, anonymousMb } of processes) {
    add(`${when}Memory-${name}`, `  ${name}, resident`, [residentMb, 'MB']);
    add(`${when}Anonymous-${name}`, `  ${name}, its own pages`, [anonymousMb, 'MB']);
  }
  const cpu = processes.reduce((total, each) => total + each.cpuPercent, 0);
  add(`${when}Cpu`, `${label}: CPU of one core`, [cpu, '%']);
  for (const { name, cpuPercent } of processes) add(`${when}Cpu-${name}`, `  ${name}`, [cpuPercent, '%']);
}

async function measureLoad({ options, instance, add }: Bench, scenario: 'api' | 'watch'): Promise<void> {
  const program = join(import.meta.dirname, 'run', 'load-client.ts');
  const text = await output(process.execPath, [
    program,
    instance.kubeconfig,
    scenario,
    options.quick ? '1000' : '4000',
  ]);
  const { listObjects, watchers, ...rates } = JSON.parse(text) as Record<string, number>;
  if (scenario === 'watch') return add('watch', `watch events to ${watchers} watchers`, [rates['events'] ?? 0, '/s']);
  const { list, ...single } = rates;
  for (const [verb, rate] of Object.entries(single)) add(verb, `${verb} 1 KB objects, 16 Node clients`, [rate, '/s']);
  add('list', `list ${listObjects} objects, 4 clients`, [list ?? 0, '/s']);
}

async function measureWrk({ options, instance, add }: Bench): Promise<void> {
  const rates = await wrkRates(instance, options.quick ? 2 : 8);
  if (rates === undefined) return console.error('bench: no wrk here (Debian package wrk): its rows are left out');
  add('wrkBare', 'wrk GET of a bare Node.js HTTPS server', [rates.bareGet, '/s']);
  add('wrkGet', 'wrk GET, TLS, token, RBAC', [rates.get, '/s']);
  add('wrkPost', 'wrk POST, TLS, token, RBAC', [rates.post, '/s']);
}

/** A number of pods that start at once. */
interface Group {
  readonly key: string;
  readonly count: number;
}

async function measurePods(
  { options, instance, add }: Bench,
  containerdSocket: string,
  groups: readonly Group[],
): Promise<readonly (Group & { readonly times: PodTimes })[]> {
  if (groups.length === 0) return [];
  await provideImage(containerdSocket);
  await onePod(instance, 1); // the first pod of a cluster includes the loading of modules on demand
  const one = await onePod(instance, options.quick ? 3 : 5);
  add('onePodReady', 'one pod, create to Ready', [one.ready, 'ms']);
  add('onePodGone', 'one pod, delete to gone', [one.gone, 'ms']);
  const measured = [];
  for (const group of groups) {
    const { key, count } = group;
    const times = await podsAtOnce(instance, count, key);
    add(`${key}PodsReady`, `${count} pods at once, all Ready`, [times.ready, 'ms']);
    add(`${key}PodsGone`, `${count} pods at once, all gone`, [times.gone, 'ms']);
    measured.push({ ...group, times });
    await sleep(1000); // sandboxes are removed after their pods
  }
  if (options.deployment) {
    const scaled = await scaleDeployment(instance, 60);
    add('deploymentUp', 'Deployment 0 to 60', [scaled.ready, 'ms']);
    add('deploymentDown', 'Deployment 60 to 0', [scaled.gone, 'ms']);
  }
  return measured;
}

/** The memory after 500 pods, in waves of 50, as many as a node runs at once. */
async function measureWaves(bench: Bench): Promise<void> {
  const { instance, add } = bench;
  await provideImage((await clusterStatus(instance.dataDir)).containerdSocket);
  const startedMs = performance.now();
  for (let wave = 0; wave < WAVES; wave++) await podsAtOnce(instance, WAVE_PODS, `wave-${wave}`);
  add('waves', `${WAVES * WAVE_PODS} pods come and gone, ${WAVE_PODS} at once`, [performance.now() - startedMs, 'ms']);
  await measureIdle(bench, 'pods500');
}

async function measureFloor(
  { options, instance, add }: Bench,
  containerdSocket: string,
  measured: readonly (Group & { readonly times: PodTimes })[],
): Promise<void> {
  if (measured.length === 0) return;
  const place = { containerdSocket, dataDir: instance.dataDir, cgroupParent: `/keelson-${instance.hash()}/floor` };
  const counts = measured.map(({ count }) => count);
  const floor = await criFloor(place, { rounds: options.quick ? 3 : 5, counts });
  add('floorOneReady', 'floor in CRI calls: one pod started', [floor.one.ready, 'ms']);
  add('floorOneGone', 'floor in CRI calls: one pod removed', [floor.one.gone, 'ms']);
  measured.forEach(({ key, count, times }, index) => {
    const { ready, gone } = floor.many[index]!;
    const name = `floor${key[0]!.toUpperCase()}${key.slice(1)}`;
    add(`${name}Ready`, `floor in CRI calls: ${count} pods started`, [ready, 'ms']);
    add(`${name}Gone`, `floor in CRI calls: ${count} pods removed`, [gone, 'ms']);
    add(`${key}PodsReadyFactor`, `${count} pods at once, all Ready, of the floor`, [times.ready / ready, '×']);
    add(`${key}PodsGoneFactor`, `${count} pods at once, all gone, of the floor`, [times.gone / gone, '×']);
  });
}

await main().catch((error: Error) => {
  console.error(`bench: ${error.message}`);
  process.exitCode = 1;
});

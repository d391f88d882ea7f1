// `npm run bench:commands`: what a user waits for after a command. `up` with one and three nodes until the demo answers by
// its DNS name, `image load` of 100 MB, and at rest the memory of further nodes and of a cluster with everything enabled.
//
//   npm run bench:commands -- [--rounds 3]
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';

import { rootRunDir } from '../src/cluster/instance/control-place.ts';
import { build } from '../tools/build.ts';
import { demoImage } from '../tools/demo-image.ts';
import { buildImage } from '../tools/image-archive.ts';
import { repositoryRoot } from '../tools/repository.ts';
import { deploy } from '../tools/up/demo.ts';
import { createKubeClient, type KubeClient } from '../tools/up/kube-client.ts';
import { answersByName } from './run/demo.ts';
import { freePort } from './run/instance.ts';
import { describeMachine } from './run/report.ts';
import { median, sleep, until } from './run/wait.ts';

const IMAGE_BYTES = 100_000_000;
const REST_MS = 60_000;
const program = join(repositoryRoot, 'bin/keelson');
const run = promisify(execFile);

/** A cluster of the benchmark; every command gets its data directory. */
class Cluster {
  readonly folder = mkdtempSync(join(tmpdir(), 'keelson-bench-'));
  readonly dataDir = join(this.folder, 'data');

  async keelson(...args: string[]): Promise<void> {
    await run(process.execPath, [program, ...args, '--data-dir', this.dataDir]);
  }

  async up(...flags: string[]): Promise<KubeClient> {
    const port = String(await freePort());
    await this.keelson('up', '--detach', '--https-port', port, '--write-kubeconfig=none', ...flags);
    return createKubeClient(join(this.dataDir, 'admin.kubeconfig'));
  }

  async loadDemo(): Promise<void> {
    const file = join(this.folder, 'demo.tar');
    writeFileSync(file, demoImage().archive);
    await this.keelson('image', 'load', file);
  }

  async remove(): Promise<void> {
    await this.keelson('down', '--delete-data');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function withCluster<T>(work: (cluster: Cluster) => Promise<T>): Promise<T> {
  const cluster = new Cluster();
  try {
    return await work(cluster);
  } finally {
    await cluster.remove();
  }
}

/** From the command to the demo's answer, the image's way onto the nodes included. */
function upToAnswerMs(nodes: number): Promise<{ readonly readyMs: number; readonly answerMs: number }> {
  return withCluster(async (cluster) => {
    const startedMs = performance.now();
    const client = await cluster.up('--nodes', String(nodes));
    const readyMs = performance.now() - startedMs;
    await cluster.loadDemo();
    await deploy(client);
    await until(await answersByName(client), { what: 'the demo by its name', timeoutMs: 60_000, everyMs: 15 });
    client.close();
    return { readyMs, answerMs: performance.now() - startedMs };
  });
}

/** `image load` of images that the node does not have, each of one layer that cannot be compressed. */
function loadMs(rounds: number): Promise<readonly number[]> {
  return withCluster(async (cluster) => {
    (await cluster.up()).close();
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const file = join(cluster.folder, 'big.tar');
      const files = [{ path: 'blob', kind: 'file', content: randomBytes(IMAGE_BYTES) }] as const;
      writeFileSync(file, buildImage({ name: `localhost/big:${round}`, files, command: ['/blob'] }).archive);
      const startedMs = performance.now();
      await cluster.keelson('image', 'load', file);
      times.push(performance.now() - startedMs);
    }
    return times;
  });
}

/** A Gateway and an Ingress, so that routes of both kinds are served. */
const routes = (port: number): object => ({
  apiVersion: 'v1',
  kind: 'List',
  items: [
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'Gateway',
      metadata: { name: 'demo', namespace: 'default' },
      spec: { gatewayClassName: 'keelson', listeners: [{ name: 'http', port, protocol: 'HTTP' }] },
    },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: { name: 'demo', namespace: 'default' },
      spec: { ingressClassName: 'keelson', defaultBackend: { service: { name: 'demo', port: { number: 80 } } } },
    },
  ],
});

/** Proportional memory of all processes of a cluster with registry, charts, routes and the demo, after a minute at rest. */
function restingMemory(): Promise<readonly ProcessMemory[]> {
  return withCluster(async (cluster) => {
    const [http, https, listener, registry] = [await freePort(), await freePort(), await freePort(), await freePort()];
    const ports = ['--gateway-http-port', String(http), '--gateway-https-port', String(https)];
    const client = await cluster.up('--gateway', 'keelson', ...ports, '--registry', String(registry));
    await cluster.keelson('addons', 'enable', 'helm');
    await cluster.loadDemo();
    await deploy(client);
    await until(await answersByName(client), { what: 'the demo by its name', timeoutMs: 60_000, everyMs: 50 });
    // Applied again until its kinds are served.
    writeFileSync(join(cluster.dataDir, 'manifests/routes.json'), JSON.stringify(routes(listener)));
    const running = (): readonly string[] => processesOf(cluster).map(({ name }) => name);
    await until(() => Promise.resolve(running().includes('gateway-server')), {
      what: 'the gateway',
      timeoutMs: 60_000,
      everyMs: 100,
    });
    client.close();
    await sleep(REST_MS);
    return processesOf(cluster);
  });
}

/** Proportional memory of all processes of each further node of three, without pods, after a minute at rest. */
function nodesMemoryMb(): Promise<readonly number[]> {
  return withCluster(async (cluster) => {
    (await cluster.up('--nodes', '3')).close();
    await sleep(REST_MS);
    const folder = join(cluster.dataDir, 'nodes');
    return readdirSync(folder).map((name) =>
      processesOf({ dataDir: join(folder, name) }).reduce((sum, { mb }) => sum + mb, 0),
    );
  });
}

interface ProcessMemory {
  readonly name: string;
  readonly mb: number;
}

/** The cluster's processes and their children, containerd among them; of pods none. */
function processesOf({ dataDir }: Pick<Cluster, 'dataDir'>): readonly ProcessMemory[] {
  const all = readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map((pid) => ({
      pid,
      parent: /^PPid:\s+(\d+)/m.exec(textOf(`/proc/${pid}/status`))?.[1],
      command: textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' '),
    }))
    .filter(({ command }) => !command.includes('containerd-shim'));
  const named = all.filter(({ command }) => [dataDir, rootRunDir(dataDir)].some((path) => command.includes(path)));
  const pids = new Set(named.map(({ pid }) => pid));
  const children = all.filter(({ pid, parent }) => !pids.has(pid) && parent !== undefined && pids.has(parent));
  return [...named, ...children].map(({ pid, command }) => ({
    name: /gateway-server|dns-server|containerd|supervise|spawner|keelson up/.exec(command)?.[0] ?? command,
    mb: (Number(/^Pss:\s+(\d+) kB/m.exec(textOf(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) * 1024) / 1e6,
  }));
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // The process has ended.
  }
}

const seconds = (times: readonly number[]): string =>
  `${(median(times) / 1000).toFixed(2)} s (${times.map((ms) => (ms / 1000).toFixed(2)).join(', ')})`;

async function main(): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('real pods need root');
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '3' } } });
  const rounds = Number(values.rounds);
  console.log(Object.values(describeMachine()).join(', '));
  await build(repositoryRoot);
  for (const [nodes, goal] of [
    [1, 2],
    [3, 6],
  ] as const) {
    const times = [];
    for (let round = 0; round < rounds; round++) times.push(await upToAnswerMs(nodes));
    console.log(`up --nodes ${nodes}, to ready: ${seconds(times.map(({ readyMs }) => readyMs))}`);
    console.log(`  to the demo by its name (goal ${goal} s): ${seconds(times.map(({ answerMs }) => answerMs))}`);
  }
  console.log(`image load of 100 MB (goal 1 s): ${seconds(await loadMs(rounds))}`);
  const nodesMb = (await nodesMemoryMb()).map((mb) => mb.toFixed(0));
  console.log(`memory of each further node (goal 120 MB): ${nodesMb.join(', ')} MB`);
  const resting = await restingMemory();
  const sum = resting.reduce((total, { mb }) => total + mb, 0);
  console.log(`memory with everything enabled (goal 250 MB): ${sum.toFixed(0)} MB`);
  for (const { name, mb } of resting) console.log(`  ${name}: ${mb.toFixed(0)} MB`);
}

await main();

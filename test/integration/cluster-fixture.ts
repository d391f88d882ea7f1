/**
 * A real cluster for tests: `bin/keelson up --detach` with its own data directory, port and ranges, and the test images, used
 * through real kubectl. `stop` takes it down and fails when it leaves anything on the machine.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { instanceHash } from '../../src/cluster/instance/instance.ts';
import { demoImage } from '../../tools/demo-image.ts';
import { kubectlProgram } from '../../tools/kubectl.ts';
import { testImage } from '../../tools/test-image.ts';
import { importImage } from '../../tools/up/cluster.ts';
import { leftovers } from './fixtures/leftovers.ts';
import { reserveFirst } from './fixtures/reserved.ts';
import { keelsonProgram, must, run, start, type Outcome, type RunOptions, type Running } from './fixtures/programs.ts';
import { until } from './fixtures/until.ts';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';

/** Arguments as a list, or as one text that is split at its spaces. */
export type Args = string | readonly string[];

/** The images of every test cluster; `test:2` differs from `test:1` only in that /cgi-bin/version answers "2". */
export const images = {
  demo: 'localhost/keelson/demo:1',
  test: 'localhost/keelson/test:1',
  test2: 'localhost/keelson/test:2',
};

/** The data directory, port and ranges of a cluster. */
export interface ClusterPlace {
  readonly dataDir: string;
  readonly hash: string;
  readonly httpsPort: number;
  readonly clusterCidr: string;
  readonly serviceCidr: string;
}

/** kubectl in one namespace. */
export interface Space {
  readonly namespace: string;
  /** Runs kubectl; resolves to its standard output, rejects when it fails. */
  kubectl(args: Args, options?: RunOptions): Promise<string>;
  /** Runs kubectl; resolves also when kubectl fails. */
  outcome(args: Args, options?: RunOptions): Promise<Outcome>;
  /** Starts kubectl. */
  start(args: Args): Running;
  /** Applies manifests, as YAML or as an object. */
  apply(manifest: string | object, ...flags: string[]): Promise<string>;
  /** Calls the probe until it returns a value; rejects at the timeout with the state of the namespace. */
  until<T>(what: string, probe: () => Promise<T | undefined | false | ''>, timeoutMs?: number): Promise<T>;
}

/** A running cluster. */
export interface TestCluster extends ClusterPlace, Space {
  readonly kubeconfig: string;
  /** An existing namespace, through another kubectl. */
  with(kubectl: string, namespace: string): Space;
  /** Creates a namespace and waits for its default service account, without which pods are refused. */
  space(name: string): Promise<Space>;
  /** `keelson up --detach` again, with the same data directory. */
  up(): Promise<void>;
  /** The pid of the running keelson. */
  pid(): Promise<number>;
  /** `keelson down --delete-data`; fails when anything is left on the machine. */
  stop(): Promise<void>;
}

/** How a cluster is started. */
export interface ClusterSetup {
  readonly flags?: readonly string[];
  readonly kubectl?: string;
  /** False: the test images are not imported. */
  readonly images?: boolean;
}

/** A data directory, a port and two ranges that no other test uses. */
export async function freePlace(): Promise<ClusterPlace> {
  const dataDir = mkdtempSync(join(tmpdir(), 'keelson-test-'));
  const httpsPort = await freePort();
  const texts = [await must('ip', ['route', 'show', 'table', 'all']), ...claims()];
  const prefixes = texts.flatMap((text) => text.match(/\b10\.\d+\./g) ?? []);
  const taken = new Set(prefixes.map((prefix) => Number(prefix.split('.')[1])));
  const pairs = Array.from({ length: 40 }, (_, index) => 110 + 2 * ((httpsPort + index) % 40));
  const unrouted = pairs.filter((octet) => !taken.has(octet) && !taken.has(octet + 1));
  const first = await reserveFirst('range', unrouted);
  return {
    dataDir,
    hash: hashOf(dataDir),
    httpsPort,
    clusterCidr: `10.${first}.0.0/16`,
    serviceCidr: `10.${first + 1}.0.0/16`,
  };
}

/**
 * Claims of clusters that do not run, for example of a killed test: such a cluster may start again, and its ranges are refused to
 * others.
 */
function claims(): readonly string[] {
  return globSync('/run/keelson/*/ranges.json').map((path) => readFileSync(path, 'utf8'));
}

/** The hash that names an instance's devices and tables. */
export function hashOf(dataDir: string): string {
  return instanceHash(dataDir, (text) => createHash('sha256').update(text).digest('hex'));
}

/** Runs `bin/keelson`. */
export function keelson(args: Args, options: RunOptions = {}): Promise<Outcome> {
  return run(process.execPath, [keelsonProgram, ...listOf(args)], { timeoutMs: 300_000, ...options });
}

/** The arguments of `keelson up` for a place. */
export function upArgs({ dataDir, httpsPort, clusterCidr, serviceCidr }: ClusterPlace): string[] {
  return [
    'up',
    '--data-dir',
    dataDir,
    '--https-port',
    String(httpsPort),
    '--cluster-cidr',
    clusterCidr,
    '--service-cidr',
    serviceCidr,
  ];
}

/** Starts a cluster with the images of the tests. A start that fails leaves nothing behind. */
export async function startCluster(setup: ClusterSetup = {}): Promise<TestCluster> {
  const place = await freePlace();
  const cluster = createTestCluster(place, setup);
  try {
    await cluster.up();
    if (setup.images !== false) await importImages(place);
  } catch (error) {
    await cluster.stop().catch((problem: unknown) => console.error(problem));
    throw error;
  }
  return cluster;
}

/** Puts the images of the tests into a cluster's containerd. */
export async function importImages({ hash }: Pick<ClusterPlace, 'hash'>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-images-'));
  try {
    const archives = [demoImage(), testImage(), testImage({ name: images.test2, version: '2' })];
    for (const [index, { archive }] of archives.entries()) {
      const path = join(folder, `${index}.tar`);
      writeFileSync(path, archive);
      await importImage(`/run/keelson/${hash}/containerd.sock`, path);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function createTestCluster(place: ClusterPlace, { flags = [], kubectl = kubectlProgram() }: ClusterSetup): TestCluster {
  const { dataDir } = place;
  const kubeconfig = join(dataDir, 'admin.kubeconfig');
  const home = `${dataDir}-home`;
  const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: home };
  const logFile = join(dataDir, 'logs/keelson.log');
  const started: Running[] = [];
  const deps = { env, logFile, started };
  const spaceOf = (namespace: string): Space => createSpace({ namespace, kubectl, ...deps });
  return {
    ...place,
    ...spaceOf('default'),
    kubeconfig,
    with: (other, namespace) => createSpace({ namespace, kubectl: other, ...deps }),
    async space(name) {
      const space = spaceOf(name);
      await space.kubectl(['create', 'namespace', name]);
      await space.until(
        'the default service account',
        async () => (await space.outcome('get serviceaccount default')).code === 0,
      );
      return space;
    },
    async up() {
      mkdirSync(home, { recursive: true });
      const { code, stdout, stderr } = await keelson([...upArgs(place), '--detach', ...flags]);
      assert.equal(code, 0, `keelson up: ${stdout}${stderr}\n${tail(logFile)}`);
    },
    async pid() {
      const { stdout } = await keelson(['status', '--data-dir', dataDir, '--output', 'json']);
      return (JSON.parse(stdout) as { pid: number }).pid;
    },
    stop() {
      for (const running of started) running.kill('SIGKILL');
      return stopCluster(place, home);
    },
  };
}

async function stopCluster(place: ClusterPlace, home: string): Promise<void> {
  const { code, stdout, stderr } = await keelson(['down', '--delete-data', '--data-dir', place.dataDir]);
  rmSync(home, { recursive: true, force: true });
  const left = await leftovers(place);
  assert.deepEqual({ code, output: stdout + stderr, left }, { code: 0, output: '', left: [] });
}

interface SpaceDeps {
  readonly namespace: string;
  readonly kubectl: string;
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  /** Programs that `stop` ends. */
  readonly started: Running[];
}

function createSpace({ namespace, kubectl, env, logFile, started }: SpaceDeps): Space {
  // Without the flag for `default`: manifests may name other namespaces.
  const full = (args: Args): string[] => [
    ...(namespace === 'default' ? [] : ['--namespace', namespace]),
    ...listOf(args),
  ];
  const space: Space = {
    namespace,
    kubectl: (args, options) => must(kubectl, full(args), { env, ...options }),
    outcome: (args, options) => run(kubectl, full(args), { env, ...options }),
    start(args) {
      const running = start(kubectl, full(args), { env });
      started.push(running);
      return running;
    },
    apply: (manifest, ...flags) => {
      const input = typeof manifest === 'string' ? manifest : JSON.stringify(manifest);
      return space.kubectl(['apply', '-f', '-', ...flags], { input });
    },
    until: (what, probe, timeoutMs) =>
      until(what, probe, timeoutMs).catch(async (error: Error) => {
        throw new Error(`${error.message}\n${await report(space, logFile)}`, { cause: error });
      }),
  };
  return space;
}

/** The state that a failed wait reports: pods, events and objects of the namespace, and the end of the log. */
async function report(space: Space, logFile: string): Promise<string> {
  const parts = await Promise.all([
    space.outcome('get all,endpointslices -o wide'),
    space.outcome('get events --sort-by=.lastTimestamp'),
    space.outcome('describe pods --show-events'),
  ]);
  return [...parts.map(({ stdout, stderr }) => stdout + stderr), tail(logFile)].join('\n---\n');
}

/** The end of a log without its debug lines. */
function tail(file: string): string {
  if (!existsSync(file)) return '';
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .slice(-15)
    .map((line) => line.slice(0, 300))
    .join('\n');
}

function listOf(args: Args): readonly string[] {
  return typeof args === 'string' ? args.split(' ') : args;
}

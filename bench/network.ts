/**
 * The network's goals in one command: `node bench/network.ts`, as root. In separate network namespaces: the rules of 5,000
 * services (first sync, one endpoint's change), connections through a service compared with direct ones, a pod's throughput over
 * the bridge compared with a plain veth pair; and cluster DNS over loopback. Prints the figures beside the goals.
 */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { EndpointSlices, Services } from '../src/api/gen/resources.ts';
import { createInProcessClient } from '../src/client/in-process-transport.ts';
import { createInformerFactory } from '../src/client/informer-factory.ts';
import { createFakeApi } from '../src/client/fake-api-fixture.ts';
import { createNodePlatform } from '../src/platform/node/node-platform.ts';
import { createServiceProxy } from '../src/proxy/service-proxy.ts';

interface Line {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly goal?: number;
  /** Whether a higher figure is better. */
  readonly more?: boolean;
}

const SERVICES = 5_000;
const MEGABYTES = 3_000;
const CONNECTIONS = 1_500;
const PORT = 8080;
const prefix = `kb${process.pid}`;
const namespaces = ['host', 'one', 'two', 'left', 'right'].map((name) => `${prefix}${name}`);
const [host = '', one = '', two = '', left = '', right = ''] = namespaces;

const ip = (...args: string[]): string => execFileSync('ip', args, { encoding: 'utf8' });
const inside = (namespace: string, program: string, args: readonly string[]): string[] => [
  ...['netns', 'exec', namespace, program],
  ...args,
];

/** Two pods on a bridge as CNI creates them, and two ends of one veth pair. */
function createNamespaces(): void {
  for (const name of namespaces) {
    ip('netns', 'add', name);
    ip('-n', name, 'link', 'set', 'lo', 'up');
  }
  ip('-n', host, 'link', 'add', 'br0', 'type', 'bridge');
  ip('-n', host, 'addr', 'add', '10.42.0.1/24', 'dev', 'br0');
  ip('-n', host, 'link', 'set', 'br0', 'up');
  for (const [at, pod] of [one, two].entries()) {
    ip('-n', host, 'link', 'add', `p${at}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', pod);
    ip('-n', host, 'link', 'set', `p${at}`, 'master', 'br0', 'up');
    ip('-n', pod, 'addr', 'add', `10.42.0.${at + 2}/24`, 'dev', 'eth0');
    ip('-n', pod, 'link', 'set', 'eth0', 'up');
    ip('-n', pod, 'route', 'add', 'default', 'via', '10.42.0.1');
  }
  const settings = ['/proc/sys/net/ipv4/ip_forward', '/proc/sys/net/bridge/bridge-nf-call-iptables'];
  for (const path of settings) ip(...inside(host, 'sh', ['-c', `test ! -e ${path} || echo 1 > ${path}`]));
  ip('-n', left, 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', right);
  for (const [at, end] of [left, right].entries()) {
    ip('-n', end, 'addr', 'add', `10.99.0.${at + 1}/24`, 'dev', 'eth0');
    ip('-n', end, 'link', 'set', 'eth0', 'up');
  }
}

/**
 * Installs the rules of all services in the pods' host; the first service leads to the second pod. Resolves to a function that
 * removes them.
 */
async function serveServices(): Promise<() => Promise<void>> {
  const platform = createNodePlatform({ log: { level: 'warn' } });
  const api = createFakeApi(() => '2026-01-01T00:00:00Z');
  for (let i = 0; i < SERVICES; i++) {
    const clusterIP = `10.43.${i >> 8}.${i & 255}`;
    const address = i === 1 ? '10.42.0.3' : `10.42.${16 + (i >> 8)}.${i & 255}`;
    api.seed(Services, {
      metadata: { namespace: 'default', name: `svc-${i}` },
      spec: { type: 'ClusterIP', clusterIP, clusterIPs: [clusterIP], ports: [{ port: 80, protocol: 'TCP' }] },
    });
    api.seed(EndpointSlices, {
      metadata: { namespace: 'default', name: `svc-${i}-x`, labels: { 'kubernetes.io/service-name': `svc-${i}` } },
      addressType: 'IPv4',
      ports: [{ port: PORT, protocol: 'TCP' }],
      endpoints: [{ addresses: [address] }],
    });
  }
  const { clock, random, log } = platform;
  const principal = { name: 'bench', groups: [] };
  const client = createInProcessClient({ handler: api.handler, clock, principal, userAgent: 'bench' });
  const informers = createInformerFactory({ client, clock, random, log });
  const proxy = createServiceProxy(
    { informers, platform },
    {
      ...{ nodeName: 'bench', nftTable: 'keelson-bench', clusterCidr: '10.42.0.0/16', serviceCidr: '10.43.0.0/16' },
      ...{ masqueradeMark: 0x4001_0000, mode: 'nftables', commandPrefix: ['ip', 'netns', 'exec', host] },
    },
  );
  const stop = new AbortController();
  const running = proxy.start(stop.signal);
  informers.start(stop.signal);
  await proxy.synced();
  return async () => {
    stop.abort();
    await running;
    platform.close();
  };
}

const RECEIVER = `require('net').createServer((s) => s.on('error', () => {}).resume()).listen(${PORT}, () => console.log('up'))`;
const CONNECTOR = `const { connect } = require('net');
const [, ...targets] = process.argv;
const times = targets.map(() => []);
(async () => {
  for (let i = 0; i < ${CONNECTIONS}; i++)
    for (const [at, target] of targets.entries()) {
      const [host, port] = target.split(':');
      const start = process.hrtime.bigint();
      const socket = await new Promise((done, fail) => {
        const made = connect({ host, port: Number(port) }, () => done(made)).on('error', fail);
      });
      times[at].push(Number(process.hrtime.bigint() - start) / 1000);
      socket.resetAndDestroy();
    }
  console.log(JSON.stringify(times.map((all) => all.sort((a, b) => a - b)[all.length >> 1])));
})();`;

async function receiver(namespace: string): Promise<ChildProcess> {
  const child = spawn('ip', inside(namespace, process.execPath, ['-e', RECEIVER]), {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  return child;
}

/** The throughput of dd from one namespace to a receiver in another, in megabytes per second. */
function throughput(from: string, to: string): number {
  const startMs = performance.now();
  const send = `dd if=/dev/zero bs=1M count=${MEGABYTES} 2>/dev/null > /dev/tcp/${to}/${PORT}`;
  execFileSync('ip', inside(from, 'bash', ['-c', send]));
  return MEGABYTES / ((performance.now() - startMs) / 1000);
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

async function connections(): Promise<Line[]> {
  createNamespaces();
  const end = await serveServices();
  const receivers = await Promise.all([receiver(two), receiver(right)]);
  try {
    const rounds = Array.from(
      { length: 5 },
      () => [throughput(one, '10.42.0.3'), throughput(left, '10.99.0.2')] as const,
    );
    const ratio = median(rounds.map(([pods, plain]) => (100 * pods) / plain));
    const said = execFileSync('ip', inside(one, process.execPath, ['-e', CONNECTOR, '10.42.0.3:8080', '10.43.0.1:80']));
    const [direct = 1, service = 0] = JSON.parse(said.toString()) as number[];
    return [
      { what: 'connection through a service, of a direct one', value: (100 * service) / direct, unit: '%', goal: 110 },
      { what: 'pod to pod throughput, of a plain veth pair', value: ratio, unit: '%', goal: 90, more: true },
    ];
  } finally {
    for (const child of receivers) child.kill('SIGKILL');
    await end();
  }
}

/** Runs another benchmark of this folder and returns the numbers after each text. */
function numbersOf(file: string, args: readonly string[], ...patterns: readonly RegExp[]): number[] {
  const { stdout, status, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, file), ...args], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${file}: ${stderr}`);
  return patterns.map((pattern) => Number(pattern.exec(stdout)?.[1] ?? Number.NaN));
}

function rules(): Line[] {
  const figures = (services: number, mode: string): number[] =>
    numbersOf('proxy-rules.ts', [String(services), '2', mode], /: (\d+) ms, of which/, /median ([\d.]+) ms/);
  const [first = 0, change = 0] = figures(SERVICES, 'nftables');
  const [, changeOfFew = 0] = figures(SERVICES / 10, 'nftables');
  const [firstIptables = 0, changeIptables = 0] = figures(SERVICES, 'iptables');
  return [
    { what: `first sync of ${SERVICES} services`, value: first, unit: 'ms', goal: 500 },
    { what: '  in iptables mode', value: firstIptables, unit: 'ms' },
    { what: `one endpoint’s change among ${SERVICES} services`, value: change, unit: 'ms', goal: 30 },
    { what: `  among ${SERVICES / 10}`, value: changeOfFew, unit: 'ms' },
    { what: `  among ${SERVICES} in iptables mode`, value: changeIptables, unit: 'ms' },
  ];
}

function dns(): Line[] {
  const [rate = 0, p99 = 0] = numbersOf(
    'dns.ts',
    ['3'],
    /^services +(\d+)\/s/m,
    /^services, steadily .* p99 ([\d.]+) ms/m,
  );
  return [
    { what: 'DNS, names of services', value: rate, unit: '/s', goal: 20_000, more: true },
    { what: 'DNS, 99 % answered within, at 20,000 a second', value: p99, unit: 'ms', goal: 5 },
  ];
}

function report({ what, value, unit, goal, more }: Line): void {
  const reached = `${what.padEnd(50)} ${`${value.toFixed(1)} ${unit}`.padStart(12)}`;
  if (goal === undefined) return console.log(reached);
  const met = more === true ? value >= goal : value <= goal;
  const goalText = `${more === true ? '≥' : '≤'} ${goal} ${unit}`;
  console.log(`${reached}   ${goalText.padEnd(12)} ${met ? 'met' : 'missed'}`);
}

// Timers of the clock port keep no process alive.
const alive = setInterval(() => undefined, 1000);
try {
  const lines = [...rules(), ...(await connections()), ...dns()];
  for (const line of lines) report(line);
} finally {
  clearInterval(alive);
  for (const name of namespaces) spawnSync('ip', ['netns', 'del', name]);
}

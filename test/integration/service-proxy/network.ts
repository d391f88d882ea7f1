/**
 * Network namespaces for tests of the service proxy: a node with a pod bridge and the service device, its pods, and a machine
 * outside. Every name contains the pid of this process, and `remove` removes everything.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';

/** A running network. */
export interface TestNetwork {
  /** Name of a namespace: `node`, `outside` or a pod. */
  ns(name: string): string;
  /**
   * Adds a pod with this IPv4 address and an IPv6 address of the same last number; its servers on TCP and UDP port 8080 answer
   * with their name and the client's address.
   */
  addPod(name: string, address: string): Promise<void>;
  stopPod(name: string): void;
  /** The TCP answer, or '' when refused or without an answer for so many seconds (20: answers may take a moment). */
  tcp(from: string, address: string, port: number, seconds?: number): string;
  /** The UDP answer of one socket, '' without an answer. */
  udp(from: string, address: string, port: number, sourcePort?: number): string;
  /** Milliseconds until a TCP connection was refused; undefined when it was not. */
  refusedMs(from: string, address: string, port: number): number | undefined;
  /** Runs a command in a namespace. Throws on failure. */
  run(name: string, ...command: string[]): string;
  remove(): void;
}

export const NODE_IP = '192.0.2.1';
export const OUTSIDE_IP = '192.0.2.2';
export const CLUSTER_CIDR = '10.42.0.0/24';
export const SERVICE_CIDR = '10.43.0.0/16';
export const CLUSTER_CIDR_6 = 'fd00:42::/64';
export const SERVICE_CIDR_6 = 'fd00:43::/112';

const SERVER = `
const name = process.argv[1];
const from = (a) => a.replace('::ffff:', '');
require('net').createServer((s) => { s.on('error', () => {}); s.end(name + ' ' + from(s.remoteAddress) + '\\n'); }).listen(8080, () => console.log('ready'));
const u = require('dgram').createSocket('udp4'); u.on('message', (m, r) => u.send(name + ' ' + r.address + '\\n', r.port, r.address)); u.bind(8080);
`;

function must(command: readonly string[]): string {
  const [file, ...args] = command;
  const result = spawnSync(file as string, args, { encoding: 'utf8' });
  if (result.status !== 0) throw new Error(`${command.join(' ')}: ${result.stderr}`);
  return result.stdout;
}

/** Creates the network without pods. Needs root. */
export function createTestNetwork(): TestNetwork {
  const prefix = `ksp${process.pid}`;
  const ns = (name: string): string => `${prefix}-${name}`;
  const run = (name: string, ...command: string[]): string => must(['ip', 'netns', 'exec', ns(name), ...command]);
  const made: string[] = [];
  const servers = new Map<string, ChildProcess>();
  const add = (name: string): void => {
    must(['ip', 'netns', 'add', ns(name)]);
    made.push(name);
    run(name, 'ip', 'link', 'set', 'lo', 'up');
  };
  const link = (name: string, device: string): void =>
    void must([
      'ip',
      '-n',
      ns('node'),
      'link',
      'add',
      device,
      'type',
      'veth',
      'peer',
      'name',
      'eth0',
      'netns',
      ns(name),
    ]);
  add('node');
  add('outside');
  run(
    'node',
    'sh',
    '-c',
    'echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding; ! test -e /proc/sys/net/bridge || echo 1 > /proc/sys/net/bridge/bridge-nf-call-ip6tables; ! test -e /proc/sys/net/bridge || echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables',
  );
  link('outside', 'uplink');
  for (const [name, device, address] of [
    ['node', 'uplink', `${NODE_IP}/24`],
    ['outside', 'eth0', `${OUTSIDE_IP}/24`],
  ] as const) {
    run(name, 'ip', 'addr', 'add', address, 'dev', device);
    run(name, 'ip', 'link', 'set', device, 'up');
  }
  run('outside', 'ip', 'route', 'add', 'default', 'via', NODE_IP);
  for (const [device, address] of [
    ['pods', '10.42.0.1/24'],
    ['services', '10.43.0.10/32'],
  ] as const) {
    run('node', 'ip', 'link', 'add', device, 'type', 'bridge');
    run('node', 'ip', 'addr', 'add', address, 'dev', device);
    run('node', 'ip', 'link', 'set', device, 'up');
  }
  run('node', 'ip', 'addr', 'add', 'fd00:42::1/64', 'dev', 'pods', 'nodad');
  for (const range of [SERVICE_CIDR, SERVICE_CIDR_6]) run('node', 'ip', 'route', 'add', range, 'dev', 'services');
  const bash = (from: string, script: string): string =>
    spawnSync('ip', ['netns', 'exec', ns(from), 'bash', '--norc', '-c', script], {
      encoding: 'utf8',
      timeout: 60_000,
    }).stdout.trim();
  return {
    ns,
    run,
    async addPod(name, address) {
      add(name);
      link(name, `to-${name}`);
      run('node', 'ip', 'link', 'set', `to-${name}`, 'master', 'pods', 'up');
      run('node', 'ip', 'link', 'set', `to-${name}`, 'type', 'bridge_slave', 'hairpin', 'on');
      run(name, 'ip', 'addr', 'add', `${address}/24`, 'dev', 'eth0');
      run(name, 'ip', 'link', 'set', 'eth0', 'up');
      run(name, 'ip', 'addr', 'add', `fd00:42::${address.split('.')[3]}/64`, 'dev', 'eth0', 'nodad');
      for (const gateway of ['10.42.0.1', 'fd00:42::1']) run(name, 'ip', 'route', 'add', 'default', 'via', gateway);
      const server = spawn('ip', ['netns', 'exec', ns(name), process.execPath, '-e', SERVER, name], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      servers.set(name, server);
      await new Promise((resolve) => server.stdout?.once('data', resolve));
    },
    stopPod: (name) => void servers.get(name)?.kill('SIGKILL'),
    tcp: (from, address, port, seconds = 20) =>
      bash(from, `timeout ${seconds} bash -c 'exec 3<>/dev/tcp/${address}/${port}; cat <&3' 2>/dev/null`),
    udp: (from, address, port, sourcePort) =>
      bash(
        from,
        sourcePort === undefined
          ? `timeout 5 bash -c 'exec 3<>/dev/udp/${address}/${port}; echo hello >&3; head -n1 <&3' 2>/dev/null`
          : `timeout 20 ${process.execPath} -e "const u=require('dgram').createSocket('udp4');u.on('message',(m)=>{console.log(String(m).trim());process.exit()});u.on('error',()=>process.exit());u.bind(${sourcePort},()=>{u.send('hello',${port},'${address}');setTimeout(()=>process.exit(),4000)})"`,
      ),
    refusedMs(from, address, port) {
      const script = `const t=performance.now();const s=require('net').connect(${port},'${address}');s.on('error',(e)=>{console.log(e.code,Math.round(performance.now()-t));process.exit()});s.setTimeout(20000,()=>process.exit());s.on('connect',()=>process.exit())`;
      const [code, ms] = bash(from, `${process.execPath} -e "${script}"`).split(' ');
      return code === 'ECONNREFUSED' ? Number(ms) : undefined;
    },
    remove() {
      for (const server of servers.values()) server.kill('SIGKILL');
      for (const name of made.toReversed()) spawnSync('ip', ['netns', 'del', ns(name)]);
    },
  };
}

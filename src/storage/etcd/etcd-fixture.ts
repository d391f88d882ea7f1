/** A real etcd for tests: one member on loopback, its data in memory where there is /dev/shm, ended by its id. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { freePort } from '../../platform/node/free-port-fixture.ts';

/** A running member. */
export interface EtcdServer {
  readonly url: string;
  /** Sends a signal and waits for the end where it ends the process. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Starts again with its data, at the same address. */
  restart(): Promise<void>;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
}

/** Further flags, and the files of a TLS member. */
export interface EtcdServerOptions {
  readonly flags?: readonly string[];
  readonly tls?: { readonly caFile: string; readonly certFile: string; readonly keyFile: string };
}

/** Why these tests cannot run here, or false: for `skip`. */
export const withoutEtcd: string | false = existsSync('/usr/bin/etcd')
  ? false
  : 'etcd (Debian: etcd-server) is missing';

/** Starts a member alone and resolves when it serves clients. */
export async function startEtcd(options: EtcdServerOptions = {}): Promise<EtcdServer> {
  const [member] = await startEtcdCluster(1, options);
  return member!;
}

/** Starts a cluster and resolves when all its members serve clients. */
export async function startEtcdCluster(size: number, options: EtcdServerOptions = {}): Promise<EtcdServer[]> {
  const ports = await Promise.all(Array.from({ length: 2 * size }, () => freePort('127.0.0.1')));
  const names = Array.from({ length: size }, (_, at) => `m${at}`);
  const peers = names.map((_, at) => `http://127.0.0.1:${ports[at]}`);
  const initial = names.map((name, at) => `${name}=${peers[at]}`).join();
  return Promise.all(
    names.map((name, at) => startMember({ name, peer: peers[at]!, initial, port: ports[size + at]! }, options)),
  );
}

async function startMember(
  member: { readonly name: string; readonly peer: string; readonly initial: string; readonly port: number },
  { flags = [], tls }: EtcdServerOptions,
): Promise<EtcdServer> {
  const { name, peer, initial, port } = member;
  const shared = '/dev/shm';
  const dataDir = await mkdtemp(join(existsSync(shared) ? shared : tmpdir(), 'keelson-etcd-'));
  const url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  const args = [
    ...['--name', name, '--data-dir', dataDir, '--log-level', 'info', '--logger', 'zap'],
    ...['--listen-client-urls', url, '--advertise-client-urls', url],
    ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', initial],
    // One alone is its own leader at once; several must not change it whenever the machine is busy.
    ...(initial.includes(',')
      ? ['--heartbeat-interval', '100', '--election-timeout', '2000']
      : ['--heartbeat-interval', '20', '--election-timeout', '200']),
    ...['--max-request-bytes', '8000000'],
    ...(tls === undefined
      ? []
      : [
          '--client-cert-auth',
          '--trusted-ca-file',
          tls.caFile,
          '--cert-file',
          tls.certFile,
          '--key-file',
          tls.keyFile,
        ]),
    ...flags,
  ];
  let child = await launch(args);
  return {
    url,
    kill: (signal) => end(child, signal),
    async restart() {
      child = await launch(args);
    },
    async stop() {
      await end(child, 'SIGKILL');
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Resolves when etcd has logged that it serves. */
async function launch(args: readonly string[]): Promise<ChildProcess> {
  const child = spawn('/usr/bin/etcd', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let said = '';
  child.stderr!.on('data', (chunk: Buffer) => {
    if (said.length > 100_000) return;
    said += chunk.toString();
    if (/serving (insecure )?client (requests|traffic)|serving client traffic/i.test(said)) resolve();
  });
  child.on('error', reject);
  child.on('exit', () => reject(new Error(`etcd ended: ${said.slice(-2000)}`)));
  await promise;
  return child;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const stops = signal === 'SIGSTOP' || signal === 'SIGCONT';
  const ended = stops ? undefined : new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await ended;
  // SIGSTOP reaches the threads one by one: until all are stopped, etcd may still answer.
  if (signal === 'SIGSTOP') while (!isStopped(child.pid ?? 0)) await setImmediate();
}

function isStopped(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1');
    return stat.charAt(stat.lastIndexOf(')') + 2) === 'T';
  });
}

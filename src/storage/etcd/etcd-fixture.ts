/** A real etcd for tests: one member on loopback, its data in memory where there is /dev/shm, ended by its id. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A running member. */
export interface EtcdServer {
  readonly url: string;
  readonly pid: number;
  readonly dataDir: string;
  /** Sends a signal and waits for the end where it ends the process. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Starts again on what it kept, at the same address. */
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

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve) =>
          server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)),
        ),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** Starts a member and resolves when it serves clients. */
export async function startEtcd({ flags = [], tls }: EtcdServerOptions = {}): Promise<EtcdServer> {
  const shared = '/dev/shm';
  const dataDir = await mkdtemp(join(existsSync(shared) ? shared : tmpdir(), 'keelson-etcd-'));
  const [clientPort, peerPort] = await freePorts(2);
  const url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${clientPort}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  const args = [
    ...['--name', 'one', '--data-dir', dataDir, '--log-level', 'info', '--logger', 'zap'],
    ...['--listen-client-urls', url, '--advertise-client-urls', url],
    ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `one=${peer}`],
    ...['--heartbeat-interval', '10', '--election-timeout', '100', '--max-request-bytes', '8000000'],
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
    get pid() {
      return child.pid!;
    },
    dataDir,
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

/** Resolves when etcd has said that it serves. */
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
}

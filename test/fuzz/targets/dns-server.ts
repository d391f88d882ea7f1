// `keelson dns-server` as a separate process without upstream servers.
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { keelsonProgram } from '../../integration/fixtures/programs.ts';

export interface DnsTarget {
  readonly address: string;
  readonly pid: number;
  log(): string;
  hasEnded(): boolean;
  stop(): Promise<void>;
}

/** A private mount gives it a resolv.conf whose server is a closed port of loopback. */
const SCRIPT = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';

/** Starts it on an address of loopback that no other test uses; `folder` is that of a running server. */
export async function startDnsServer(folder: string): Promise<DnsTarget> {
  const address = `127.53.${(process.pid >> 8) & 255}.${process.pid & 255}`;
  const resolvConf = join(folder, 'resolv.conf');
  await writeFile(resolvConf, 'nameserver 127.255.255.253\n');
  const own = [keelsonProgram, 'dns-server', `--kubeconfig=${folder}/data/admin.kubeconfig`, `--listen=${address}`];
  const child = spawn('unshare', ['-m', 'sh', '-c', SCRIPT, resolvConf, process.execPath, ...own], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  return {
    address,
    pid: child.pid!,
    log: () => log,
    hasEnded,
    async stop() {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      if (!hasEnded() && child.kill('SIGTERM')) await gone;
    },
  };
}

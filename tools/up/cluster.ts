// Starts a cluster with bin/keelson and reads its state, for `npm run up`.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { repositoryRoot } from '../repository.ts';
import { createKubeClient, type KubeClient } from './kube-client.ts';

/** The fields of `keelson status --output json` that are used here. */
export interface ClusterStatus {
  readonly containerdSocket: string;
}

/** The data directory in the arguments of `keelson up`, or the default. */
export function dataDirectory(args: readonly string[]): string {
  for (const [index, argument] of args.entries()) {
    if (argument === '--data-dir') return args[index + 1] ?? '';
    if (argument.startsWith('--data-dir=')) return argument.slice('--data-dir='.length);
  }
  return '/var/lib/keelson';
}

/** The file with which clients reach the cluster of a data directory. */
export function kubeconfigPath(dataDir: string): string {
  return join(dataDir, 'admin.kubeconfig');
}

/** A client when the cluster of a data directory is running and ready, else undefined. */
export async function connectIfReady(dataDir: string): Promise<KubeClient | undefined> {
  if (!existsSync(kubeconfigPath(dataDir))) return undefined;
  const client = createKubeClient(kubeconfigPath(dataDir));
  const ready = await client.send('/readyz').then(
    ({ status }) => status === 200,
    () => false,
  );
  if (ready) return client;
  client.close();
  return undefined;
}

/** Starts the cluster in the background; resolves when its node is ready. Its progress is printed to our stderr. */
export async function startCluster(args: readonly string[]): Promise<void> {
  const all = args.includes('--detach') ? args : ['--detach', ...args];
  const { code } = await run(join(repositoryRoot, 'bin/keelson'), ['up', ...all], 'show');
  if (code !== 0) throw new Error(`keelson up failed with exit code ${code}`);
}

/** The output of `keelson status` for a running cluster. @throws when it is not JSON with a containerd socket */
export async function clusterStatus(dataDir: string): Promise<ClusterStatus> {
  const program = join(repositoryRoot, 'bin/keelson');
  const { code, output } = await run(program, ['status', '--data-dir', dataDir, '--output', 'json'], 'collect');
  if (code !== 0) throw new Error(`keelson status failed with exit code ${code}: ${output.trim()}`);
  const status = JSON.parse(output) as Partial<ClusterStatus>;
  if (!status.containerdSocket) throw new Error('keelson status names no containerdSocket');
  return { containerdSocket: status.containerdSocket.replace(/^unix:\/\//, '') };
}

/** Whether a cluster's containerd has an image of this name. */
export async function hasImage(socket: string, name: string): Promise<boolean> {
  const { code, output } = await run(
    'ctr',
    ['-a', socket, '-n', 'k8s.io', 'images', 'ls', '-q', `name==${name}`],
    'collect',
  );
  return code === 0 && output.trim() === name;
}

/** Imports an image archive into a cluster's containerd. */
export async function importImage(socket: string, archivePath: string): Promise<void> {
  const { code, output } = await run('ctr', ['-a', socket, '-n', 'k8s.io', 'images', 'import', archivePath], 'collect');
  if (code !== 0) throw new Error(`importing ${archivePath} failed: ${output.trim()}`);
}

interface Outcome {
  readonly code: number | null;
  readonly output: string;
}

// Output that is not collected goes to our standard error: standard output is for the summary.
function run(program: string, args: readonly string[], output: 'show' | 'collect'): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const stream = output === 'show' ? 2 : 'pipe';
  const child = spawn(program, args, { stdio: ['ignore', stream, stream] });
  let text = '';
  for (const source of [child.stdout, child.stderr])
    source?.setEncoding('utf8').on('data', (part: string) => (text += part));
  child.on('error', reject);
  child.on('close', (code) => resolve({ code, output: text }));
  return promise;
}

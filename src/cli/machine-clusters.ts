/**
 * The clusters of this machine that the user can access: in the default places, by links in an index, running or
 * killed ones, and those with a context in the user's kubeconfig.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { hasErrorCode } from '../base/errors.ts';
import type { Log } from '../platform/log.ts';
import { requestControl } from '../cluster/instance/control-client.ts';
import { rootRunDir } from '../cluster/instance/control-place.ts';
import type { ClusterStatus } from '../cluster/cluster-status.ts';
import { supervisorOf } from '../cluster/instance/supervisor-record.ts';
import { nameOfDataDir } from './arguments/cluster-name.ts';
import { readSettings } from './arguments/settings-file.ts';
import { userKubeconfig } from './kubeconfig/user-file.ts';

/** A cluster, or a node of one, by its data directory. */
export interface MachineCluster {
  readonly name: string;
  readonly dataDir: string;
}

/** What `keelson ls` shows of it. */
export interface ListedCluster extends MachineCluster {
  readonly state: string;
  readonly port: string;
  readonly version: string;
}

/** Links to data directories in other than the default places, by the instance's hash. */
function indexFolder(): string {
  return process.getuid?.() === 0 ? '/var/lib/keelson-clusters' : join(homedir(), '.local/share/keelson-clusters');
}

/**
 * Adds a link to the index, so that a stopped cluster is found by its name. Removes links to deleted directories.
 * Logs failures.
 */
export function recordCluster(dataDir: string, log: Pick<Log, 'warn'>, places?: SearchedFolders): void {
  try {
    const { folder, known } = places ?? { folder: indexFolder(), known: defaultDataDirs() };
    forgetClusters(folder, (target) => !existsSync(target));
    if (known.includes(dataDir) || isNodeOfCluster(dataDir)) return;
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    if (!linksIn(folder).some(({ target }) => target === dataDir))
      symlinkSync(dataDir, join(folder, basename(rootRunDir(dataDir))));
  } catch (error) {
    log.warn('Failed to note where the cluster is: keelson ls will not list it once it is stopped', { err: error });
  }
}

/** The places that are searched for clusters. */
interface SearchedFolders {
  /** Has links to data directories. */
  readonly folder: string;
  /** Data directories that need none. */
  readonly known: readonly string[];
}

/** Removes the link of a deleted data directory. */
export function forgetCluster(dataDir: string): void {
  forgetClusters(indexFolder(), (target) => target === dataDir || !existsSync(target));
}

function forgetClusters(folder: string, isGone: (dataDir: string) => boolean): void {
  const gone = linksIn(folder).filter(({ target }) => isGone(target));
  for (const { link } of gone) rmSync(link, { force: true });
  if (gone.length === 0 || namesIn(folder).length > 0) return;
  try {
    rmdirSync(folder);
  } catch (error) {
    // Another cluster has removed or replaced it.
    if (!hasErrorCode(error, 'ENOENT', 'ENOTEMPTY')) throw error;
  }
}

/** Links only; other files belong to other programs. */
function linksIn(folder: string): { readonly link: string; readonly target: string }[] {
  return namesIn(folder).flatMap((name) => {
    const link = join(folder, name);
    try {
      return [{ link, target: readlinkSync(link) }];
    } catch (error) {
      if (hasErrorCode(error, 'EINVAL', 'ENOENT')) return [];
      throw error;
    }
  });
}

const STARTED: readonly string[] = ['settings.json', 'instance.json'];

/** All clusters of this machine, by name. */
export async function machineClusters(): Promise<readonly MachineCluster[]> {
  const dataDirs = new Set([
    ...defaultDataDirs(),
    ...indexed(),
    ...clustersOfRoot(),
    ...(await clustersOfKubeconfig()),
  ]);
  const found = [...dataDirs].filter(
    (dataDir) => !isNodeOfCluster(dataDir) && STARTED.some((file) => existsSync(join(dataDir, file))),
  );
  return found
    .map((dataDir) => ({ name: readSettings(dataDir).name ?? nameOfDataDir(dataDir), dataDir }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Whether the directory is that of a further node (`keelson up --nodes`), which is no cluster of its own. */
function isNodeOfCluster(dataDir: string): boolean {
  return basename(dirname(dataDir)) === 'nodes' && existsSync(join(dataDir, '../../nodes.json'));
}

/** The clusters with their states. */
export async function listClusters(): Promise<readonly ListedCluster[]> {
  return Promise.all((await machineClusters()).map(listed));
}

async function listed(cluster: MachineCluster): Promise<ListedCluster> {
  const { dataDir } = cluster;
  const settings = readSettings(dataDir);
  const remembered = { port: settings['https-port'] ?? '-', version: settings.version ?? '-' };
  const status = await requestControl(dataDir, 'status').then(
    (answer) => answer as Partial<ClusterStatus> | undefined,
    () => 'closed' as const, // another user's
  );
  if (status === 'closed') return { ...cluster, ...remembered, state: 'of another user' };
  if (status === undefined)
    return { ...cluster, ...remembered, state: supervisorOf(dataDir) === undefined ? 'stopped' : 'restarting' };
  const { phase = 'starting', simulated, role, version, machineNodes } = status;
  const several = machineNodes === undefined || machineNodes.length === 0 ? '' : ` (${machineNodes.length + 1} nodes)`;
  const kind = simulated === true ? ' (simulated)' : role === 'agent' ? ' (agent)' : several;
  return { ...cluster, port: remembered.port, version: version ?? remembered.version, state: `${phase}${kind}` };
}

function defaultDataDirs(): string[] {
  const folders = ['/var/lib', join(homedir(), '.local/share')];
  return folders.flatMap((folder) =>
    namesIn(folder)
      .filter((name) => name === 'keelson' || name.startsWith('keelson-'))
      .map((name) => join(folder, name)),
  );
}

function indexed(): string[] {
  return linksIn(indexFolder()).map(({ target }) => target);
}

/** Root's clusters, from the records in their run directories. */
function clustersOfRoot(): string[] {
  return namesIn('/run/keelson').flatMap((name) => {
    try {
      const note = JSON.parse(readFileSync(`/run/keelson/${name}/ranges.json`, 'utf8')) as { dataDir?: unknown };
      return typeof note.dataDir === 'string' ? [note.dataDir] : [];
    } catch {
      return []; // missing, just removed, or not readable by this user
    }
  });
}

async function clustersOfKubeconfig(): Promise<string[]> {
  const file = userKubeconfig();
  if (!existsSync(file)) return [];
  const { ownContexts } = await import('./kubeconfig/merge.ts');
  try {
    return ownContexts(readFileSync(file, 'utf8')).map((context) => context['data-dir']);
  } catch {
    return []; // not a valid kubeconfig, which kubectl reports better
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // missing, or not readable by this user
  }
}

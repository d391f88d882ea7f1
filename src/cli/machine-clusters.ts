/**
 * The clusters of this machine that this user can ask: in the default places, in others by links in an index, those that
 * run or were killed, and those whose context is in the user's kubeconfig.
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

/** Lets a cluster that is stopped be found again by its name. Links to directories that are gone go. Logs why it cannot. */
export function noteCluster(dataDir: string, log: Pick<Log, 'warn'>, places?: Places): void {
  try {
    const { folder, known } = places ?? { folder: indexFolder(), known: defaultPlaces() };
    forgetClusters(folder, (target) => !existsSync(target));
    if (known.includes(dataDir) || isNodeOfCluster(dataDir)) return;
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    if (!linksIn(folder).some(({ target }) => target === dataDir))
      symlinkSync(dataDir, join(folder, basename(rootRunDir(dataDir))));
  } catch (error) {
    log.warn('Failed to note where the cluster is: keelson ls will not list it once it is stopped', { err: error });
  }
}

/** Where clusters are looked for. */
interface Places {
  /** Has links to data directories. */
  readonly folder: string;
  /** Data directories that need none. */
  readonly known: readonly string[];
}

/** For a data directory that is deleted. */
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
    // Another cluster has removed it, or stands in it since.
    if (!hasErrorCode(error, 'ENOENT', 'ENOTEMPTY')) throw error;
  }
}

/** Files of other kinds are not ours. */
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

/** All of them, by name. */
export async function machineClusters(): Promise<readonly MachineCluster[]> {
  const places = new Set([...defaultPlaces(), ...indexed(), ...running(), ...(await published())]);
  const found = [...places].filter(
    (dataDir) => !isNodeOfCluster(dataDir) && STARTED.some((file) => existsSync(join(dataDir, file))),
  );
  return found
    .map((dataDir) => ({ name: readSettings(dataDir).name ?? nameOfDataDir(dataDir), dataDir }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Whether it is of a further node (`keelson up --nodes`), which is no cluster of its own. */
function isNodeOfCluster(dataDir: string): boolean {
  return basename(dirname(dataDir)) === 'nodes' && existsSync(join(dataDir, '../../nodes.json'));
}

/** With what each is doing. */
export async function listClusters(): Promise<readonly ListedCluster[]> {
  return Promise.all((await machineClusters()).map(listed));
}

async function listed(cluster: MachineCluster): Promise<ListedCluster> {
  const { dataDir } = cluster;
  const settings = readSettings(dataDir);
  const remembered = { port: settings['https-port'] ?? '-', version: settings.version ?? '-' };
  const status = await requestControl(dataDir, 'status').then(
    (answer) => answer as Partial<ClusterStatus> | undefined,
    () => 'closed' as const, // Another user's.
  );
  if (status === 'closed') return { ...cluster, ...remembered, state: 'of another user' };
  if (status === undefined)
    return { ...cluster, ...remembered, state: supervisorOf(dataDir) === undefined ? 'stopped' : 'restarting' };
  const { phase = 'starting', simulated, role, version, machineNodes } = status;
  const several = machineNodes === undefined || machineNodes.length === 0 ? '' : ` (${machineNodes.length + 1} nodes)`;
  const kind = simulated === true ? ' (simulated)' : role === 'agent' ? ' (agent)' : several;
  return { ...cluster, port: remembered.port, version: version ?? remembered.version, state: `${phase}${kind}` };
}

function defaultPlaces(): string[] {
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

/** Root's, from the notes in their run directories. */
function running(): string[] {
  return namesIn('/run/keelson').flatMap((name) => {
    try {
      const note = JSON.parse(readFileSync(`/run/keelson/${name}/ranges.json`, 'utf8')) as { dataDir?: unknown };
      return typeof note.dataDir === 'string' ? [note.dataDir] : [];
    } catch {
      return []; // None, just removed, or not for this user.
    }
  });
}

async function published(): Promise<string[]> {
  const file = userKubeconfig();
  if (!existsSync(file)) return [];
  const { ownContexts } = await import('./kubeconfig/merge.ts');
  try {
    return ownContexts(readFileSync(file, 'utf8')).map((context) => context['data-dir']);
  } catch {
    return []; // Not readable as a kubeconfig: kubectl says so better.
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // Not there, or not for this user.
  }
}

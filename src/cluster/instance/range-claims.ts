/**
 * The ranges claimed by the instances of this machine, so that two that start at the same time do not choose the
 * same: a pod range is routed only after its first pod starts. Each instance records its ranges in its run directory;
 * it reads the others' records and chooses under a lock, which the kernel releases however its process ends.
 *
 * Records of another network namespace, or of deleted data directories, are ignored.
 */
import { rangesOf } from '../../base/cidr.ts';
import type { Platform } from '../../platform/platform.ts';
import { takeFileLock, type FileLock } from './file-lock.ts';
import { instanceHash } from './instance.ts';
import { PreflightError } from '../preflight-error.ts';

/** The ranges of one instance; each may be of two families. */
export interface Ranges {
  readonly clusterCidr: string;
  readonly serviceCidr: string;
}

/** A range in use, and the device that has it. */
export interface TakenRange {
  readonly cidr: string;
  readonly device: string;
}

interface Note extends Ranges {
  readonly dataDir: string;
  /** Identifies the network namespace. */
  readonly network: string;
  /** The range of the bridge to its further nodes, if it has any. */
  readonly nodesNetwork?: string | undefined;
}

interface Deps extends Pick<Platform, 'files' | 'crypto' | 'clock'> {
  /** Default: a lock file of root's in the folder of run directories. */
  readonly tryLock?: () => FileLock | undefined;
}

const LOCK_PATIENCE_MS = 20_000;
const LOCK_RETRY_MS = 10;
const RUN_DIR = '/run/keelson';
const LOCK_FILE = `${RUN_DIR}/ranges.lock`;

/**
 * Calls `choose` with the other instances' ranges, and records the choice before another instance can choose. Rejects
 * as `choose` does.
 */
export async function claimRanges<T extends Ranges>(
  deps: Deps,
  dataDir: string,
  choose: (taken: readonly TakenRange[]) => Promise<T>,
): Promise<T> {
  return claim(deps, dataDir, async ({ taken, own }) => {
    const ranges = await choose(taken);
    const { clusterCidr, serviceCidr } = ranges;
    return { chosen: ranges, note: { clusterCidr, serviceCidr, nodesNetwork: own?.nodesNetwork } };
  });
}

/** The same for the range of the bridge to an instance's further nodes. */
export async function claimNodesNetwork(
  deps: Deps,
  { dataDir, clusterCidr, serviceCidr }: Ranges & { readonly dataDir: string },
  choose: (taken: readonly TakenRange[]) => Promise<string>,
): Promise<string> {
  return claim(deps, dataDir, async ({ taken }) => {
    const nodesNetwork = await choose(taken);
    return { chosen: nodesNetwork, note: { clusterCidr, serviceCidr, nodesNetwork } };
  });
}

interface KnownRanges {
  readonly taken: readonly TakenRange[];
  /** The record of this instance; undefined before its first start. */
  readonly own: Note | undefined;
}

interface Choice<T> {
  readonly chosen: T;
  readonly note: Omit<Note, 'dataDir' | 'network'>;
}

async function claim<T>(deps: Deps, dataDir: string, choose: (known: KnownRanges) => Promise<Choice<T>>): Promise<T> {
  const { files, crypto } = deps;
  const lock = await takeLock(deps);
  try {
    const network = await files.readLink('/proc/self/ns/net').catch(() => '');
    const all = (await notes(deps)).filter((note) => note.network === network);
    const taken = all.filter((note) => note.dataDir !== dataDir).flatMap(rangesIn);
    const { chosen, note } = await choose({ taken, own: all.find((each) => each.dataDir === dataDir) });
    const runDir = `${RUN_DIR}/${instanceHash(dataDir, (text) => crypto.sha256Hex(text))}`;
    await files.makeDir(runDir, { mode: 0o711 });
    const written: Note = { dataDir, network, ...note };
    await files.writeFileAtomic(`${runDir}/ranges.json`, JSON.stringify(written), { mode: 0o600 });
    return chosen;
  } finally {
    lock.release();
  }
}

function rangesIn({ dataDir, clusterCidr, serviceCidr, nodesNetwork }: Note): readonly TakenRange[] {
  const ranges = [clusterCidr, serviceCidr, ...(nodesNetwork === undefined ? [] : [nodesNetwork])];
  return ranges.flatMap(rangesOf).map((cidr) => ({ cidr, device: `the cluster in ${dataDir}` }));
}

async function notes({ files }: Deps): Promise<readonly Note[]> {
  if (!(await files.exists(RUN_DIR))) return [];
  const found: Note[] = [];
  for (const name of await files.readDir(RUN_DIR)) {
    const text = await files.readText(`${RUN_DIR}/${name}/ranges.json`).catch(() => undefined); // missing, or just removed
    if (text === undefined) continue;
    const note = JSON.parse(text) as Note;
    if (await files.exists(note.dataDir)) found.push(note);
  }
  return found;
}

async function takeLock({ clock, files, tryLock = () => takeFileLock(LOCK_FILE) }: Deps): Promise<FileLock> {
  await files.makeDir(RUN_DIR, { mode: 0o755 });
  const deadlineMs = clock.monotonicMs() + LOCK_PATIENCE_MS;
  for (;;) {
    const lock = tryLock();
    if (lock !== undefined) return lock;
    if (clock.monotonicMs() > deadlineMs)
      throw new PreflightError('another keelson has been choosing its ranges for long; try again when it has started');
    await clock.sleep(LOCK_RETRY_MS);
  }
}

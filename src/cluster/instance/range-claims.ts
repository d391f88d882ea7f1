/**
 * Which ranges the instances of this machine have, so that two that start at the same moment do not choose the same: a
 * range of pods is routed only when its first pod runs. Each instance notes its own in its run directory, looking at the
 * others' and choosing under a lock, which the kernel frees however its process ends.
 *
 * Notes of another network namespace are another machine's; notes of data directories that are gone count no longer.
 */
import { rangesOf } from '../../base/cidr.ts';
import type { Platform } from '../../platform/platform.ts';
import { takeFileLock, type FileLock } from './file-lock.ts';
import { instanceHash } from './instance.ts';
import { PreflightError } from '../preflight-error.ts';

/** The ranges of one instance, each perhaps of two families. */
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
}

interface Deps extends Pick<Platform, 'files' | 'crypto' | 'clock'> {
  /** Default: a file of root's in the folder of run directories. */
  readonly tryLock?: () => FileLock | undefined;
}

const LOCK_PATIENCE_MS = 20_000;
const LOCK_RETRY_MS = 10;
const RUN_DIR = '/run/keelson';
const LOCK_FILE = `${RUN_DIR}/ranges.lock`;

/** Chooses, knowing what other instances have, and notes the choice before anybody else chooses. Rejects as `choose` does. */
export async function claimRanges<T extends Ranges>(
  deps: Deps,
  dataDir: string,
  choose: (taken: readonly TakenRange[]) => Promise<T>,
): Promise<T> {
  const { files, crypto } = deps;
  const lock = await takeLock(deps);
  try {
    const network = await files.readLink('/proc/self/ns/net').catch(() => '');
    const others = (await notes(deps)).filter((note) => note.network === network && note.dataDir !== dataDir);
    const ranges = await choose(
      others.flatMap(({ dataDir: where, clusterCidr, serviceCidr }) =>
        [...rangesOf(clusterCidr), ...rangesOf(serviceCidr)].map((cidr) => ({
          cidr,
          device: `the cluster in ${where}`,
        })),
      ),
    );
    const { clusterCidr, serviceCidr } = ranges;
    const runDir = `${RUN_DIR}/${instanceHash(dataDir, (text) => crypto.sha256Hex(text))}`;
    await files.makeDir(runDir, { mode: 0o711 });
    const note: Note = { dataDir, network, clusterCidr, serviceCidr };
    await files.writeFileAtomic(`${runDir}/ranges.json`, JSON.stringify(note), { mode: 0o600 });
    return ranges;
  } finally {
    lock.release();
  }
}

async function notes({ files }: Deps): Promise<readonly Note[]> {
  if (!(await files.exists(RUN_DIR))) return [];
  const found: Note[] = [];
  for (const name of await files.readDir(RUN_DIR)) {
    const text = await files.readText(`${RUN_DIR}/${name}/ranges.json`).catch(() => undefined); // None, or just removed.
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

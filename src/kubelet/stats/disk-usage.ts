/**
 * The disk usage of pods' logs and volumes. Upstream: log_metrics_provider.go, volume_stat_calculator.go.
 *
 * Volumes are measured one pod at a time and at most once a period, since a volume may have a million files; logs are
 * few and measured at every request. A request waits at most three seconds for volumes, and no volume delays others
 * for longer, since a driver may never answer.
 */
import { podUid } from '../types/pod-update.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { hasErrorCode } from '../../base/errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Files } from '../../platform/files.ts';
import type { Log } from '../../platform/log.ts';
import type { VolumeManager } from '../volumes/volume-manager-contract.ts';

type VolumeUses = Awaited<ReturnType<VolumeManager['volumeStats']>>;

export interface DiskUsage {
  /**
   * The usage of the pod's volumes, at most a period old once measured; undefined: it is not measured, or not in
   * time.
   */
  volumes(pod: Pod): Promise<VolumeUses | undefined>;
  /** Bytes and number of files of a log directory or file; zero when it does not exist. */
  logs(path: string): Promise<{ readonly bytes: number; readonly files: number }>;
  /** Forgets pods that are gone. */
  keepOnly(podUids: ReadonlySet<string>): void;
}

interface CachedVolumeUses {
  readonly atMs: number;
  readonly uses: VolumeUses;
}

const WAIT_MS = 3000;

export function createDiskUsage(deps: {
  readonly clock: Clock;
  readonly files: Files;
  readonly log: Log;
  readonly volumes: Pick<VolumeManager, 'volumeStats'>;
  /** Negative: volumes are not measured. */
  readonly volumePeriodMs: number;
}): DiskUsage {
  const { clock, files, volumePeriodMs } = deps;
  const cache = new Map<string, CachedVolumeUses>();
  const running = new Map<string, Promise<VolumeUses>>();
  let line: Promise<unknown> = Promise.resolve();

  async function inTime<T>(measurement: Promise<T>): Promise<T | undefined> {
    const waiting = new AbortController();
    const late = clock.sleep(WAIT_MS, waiting.signal).then(
      () => undefined,
      () => undefined,
    );
    try {
      return await Promise.race([measurement, late]);
    } finally {
      waiting.abort();
    }
  }

  function measure(uid: string): Promise<VolumeUses> {
    const mine = line.then(() => deps.volumes.volumeStats(uid));
    const logged = mine.catch((error: unknown) =>
      deps.log.warn('Failed to calculate volume metrics', { podUID: uid, err: error }),
    );
    line = line.then(() => inTime(logged));
    return mine.then((uses) => {
      cache.set(uid, { atMs: clock.monotonicMs(), uses });
      return uses;
    });
  }

  async function sizeBelow(path: string): Promise<{ bytes: number; files: number }> {
    try {
      const stat = await files.lstat(path);
      if (stat.kind !== 'directory') return { bytes: stat.sizeBytes, files: 1 };
      const total = { bytes: 0, files: 1 };
      for (const name of await files.readDir(path)) {
        const below = await sizeBelow(`${path}/${name}`);
        total.bytes += below.bytes;
        total.files += below.files;
      }
      return total;
    } catch (error) {
      if (hasErrorCode(error, 'ENOENT')) return { bytes: 0, files: 0 };
      throw error;
    }
  }

  return {
    async volumes(pod) {
      if (volumePeriodMs < 0) return undefined;
      const uid = podUid(pod);
      const last = cache.get(uid);
      if (last !== undefined && clock.monotonicMs() - last.atMs < volumePeriodMs) return last.uses;
      let work = running.get(uid);
      if (work === undefined) {
        work = measure(uid).finally(() => running.delete(uid));
        running.set(uid, work);
      }
      if (last === undefined) return inTime(work);
      work.catch(() => undefined); // logged; the old figures are used
      return last.uses;
    },
    logs: sizeBelow,
    keepOnly(podUids) {
      for (const uid of cache.keys()) if (!podUids.has(uid)) cache.delete(uid);
    },
  };
}

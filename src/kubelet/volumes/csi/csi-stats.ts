/**
 * Usage of CSI volumes, from NodeGetVolumeStats. Upstream: pkg/volume/csi/csi_metrics.go.
 *
 * Callers never wait for a driver: the last response is returned, and a new one requested when it is old. So a
 * hanging driver delays no statistics; a volume has none before the first response, and none at all if its driver
 * does not support them.
 */
import type { Platform } from '../../../platform/platform.ts';
import type { SetUpRequest } from '../volume-plugin.ts';
import type { VolumeUsage } from '../volume-usage.ts';
import type { CsiNodeClient, DriverUsage } from './csi-client.ts';
import type { CsiVolume } from './csi-volume.ts';
import { background } from '../../../platform/unexpected.ts';

export interface MeasuredVolume {
  readonly request: Pick<SetUpRequest, 'dir'>;
  readonly volume: Pick<CsiVolume, 'handle'>;
  readonly client: CsiNodeClient;
  readonly target: string;
}

export interface CsiStats {
  of(volume: MeasuredVolume): VolumeUsage | undefined;
  forget(dir: string): void;
}

const MAX_AGE_MS = 50_000;

interface CachedStats {
  usage?: VolumeUsage;
  askedAtMs: number;
  asking: boolean;
}

export function createCsiStats({ clock, log }: Pick<Platform, 'clock' | 'log'>): CsiStats {
  const cache = new Map<string, CachedStats>();

  async function ask(entry: CachedStats, { client, volume, target }: MeasuredVolume): Promise<void> {
    entry.asking = true;
    entry.askedAtMs = clock.monotonicMs();
    try {
      if (!(await client.hasCapability('GET_VOLUME_STATS'))) return;
      const request = { volumeId: volume.handle, volumePath: target, stagingTargetPath: '' };
      entry.usage = usageOf(await client.nodeGetVolumeStats(request));
    } catch (error) {
      log.warn('Failed to get volume stats from the CSI driver', { volume: volume.handle, err: error });
    } finally {
      entry.asking = false;
    }
  }

  return {
    of(volume) {
      const { dir } = volume.request;
      const entry = cache.get(dir) ?? { askedAtMs: Number.NEGATIVE_INFINITY, asking: false };
      cache.set(dir, entry);
      if (!entry.asking && clock.monotonicMs() - entry.askedAtMs >= MAX_AGE_MS)
        background(log, 'the usage of a volume could not be read', ask(entry, volume));
      return entry.usage;
    },
    forget: (dir) => cache.delete(dir),
  };
}

function usageOf({ usage }: DriverUsage): VolumeUsage {
  const amountsOf = (unit: string): { available: number; total: number; used: number } =>
    usage.find((entry) => entry.unit === unit) ?? { available: 0, total: 0, used: 0 };
  const [bytes, inodes] = [amountsOf('BYTES'), amountsOf('INODES')];
  return {
    usedBytes: bytes.used,
    capacityBytes: bytes.total,
    availableBytes: bytes.available,
    inodes: inodes.total,
    inodesUsed: inodes.used,
    inodesFree: inodes.available,
  };
}

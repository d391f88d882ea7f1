/** Space of file systems for statistics. */
import type { FileSystemStat, Files } from '../../platform/files.ts';
import { DEVICE, type FsStats } from './summary-types.ts';

/** Space of a file system, and its device if the device identifies it. */
export interface DeviceSpace extends FileSystemStat {
  readonly device?: number;
}

/** Space of a file system. */
export function spaceOf(
  disk: DeviceSpace,
): Required<Pick<FsStats, 'availableBytes' | 'capacityBytes' | 'inodes' | 'inodesFree'>> &
  Pick<FsStats, typeof DEVICE> {
  return {
    availableBytes: disk.availableBytes,
    capacityBytes: disk.totalBytes,
    inodes: disk.totalInodes,
    inodesFree: disk.availableInodes,
    ...(disk.device === undefined ? {} : { [DEVICE]: disk.device }),
  };
}

/** Reads the space at paths, each file system once, so that two paths on the same one have equal figures. */
export function createSpaceReader(
  files: Pick<Files, 'stat' | 'statFileSystem'>,
): (path: string) => Promise<DeviceSpace> {
  const byDevice = new Map<number, Promise<DeviceSpace>>();
  return async (path) => {
    const { dev } = await files.stat(path);
    let read = byDevice.get(dev);
    if (read === undefined)
      byDevice.set(dev, (read = files.statFileSystem(path).then((space) => withDevice(space, dev))));
    return read;
  };
}

/**
 * Each subvolume of a btrfs has its own device, so the device does not identify the file system; btrfs reports no
 * limit of inodes.
 */
function withDevice(space: FileSystemStat, device: number): DeviceSpace {
  return space.totalInodes === 0 ? space : { ...space, device };
}

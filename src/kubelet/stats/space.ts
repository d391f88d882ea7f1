/** Space of file systems, as statistics tell it. */
import type { FileSystemStat, Files } from '../../platform/files.ts';
import type { FsStats } from './summary-types.ts';

/** Space of a file system. */
export function spaceOf(
  disk: FileSystemStat,
): Required<Pick<FsStats, 'availableBytes' | 'capacityBytes' | 'inodes' | 'inodesFree'>> {
  return {
    availableBytes: disk.availableBytes,
    capacityBytes: disk.totalBytes,
    inodes: disk.totalInodes,
    inodesFree: disk.availableInodes,
  };
}

/**
 * Reads the space at paths, each file system once: two paths on one have the same figures, also where these change between
 * two readings.
 */
export function createSpaceReader(
  files: Pick<Files, 'stat' | 'statFileSystem'>,
): (path: string) => Promise<FileSystemStat> {
  const byDevice = new Map<number, Promise<FileSystemStat>>();
  return async (path) => {
    const { dev } = await files.stat(path);
    let read = byDevice.get(dev);
    if (read === undefined) byDevice.set(dev, (read = files.statFileSystem(path)));
    return read;
  };
}

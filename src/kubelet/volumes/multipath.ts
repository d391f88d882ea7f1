/**
 * The device-mapper device over several paths to one disk, where multipathd runs. Upstream:
 * FindMultipathDeviceForDevice in pkg/volume/util/device_util_linux.go.
 */
import type { Clock } from '../../platform/clock.ts';
import type { Exec } from '../../platform/exec.ts';
import type { Files } from '../../platform/files.ts';
import { runTool } from './run-tool.ts';

const WAIT_MS = 10_000;
const POLL_MS = 500;

/** The disk's kernel name, such as `sda`; links in /dev/disk are resolved. */
export async function diskNameOf(files: Pick<Files, 'lstat' | 'readLink'>, device: string): Promise<string> {
  const { kind } = await files.lstat(device);
  const path = kind === 'symlink' ? await files.readLink(device) : device;
  return path.slice(path.lastIndexOf('/') + 1);
}

/** `/dev/dm-N` over the disk; undefined where there is none. */
async function mapperOf(files: Files, device: string): Promise<string | undefined> {
  const disk = await diskNameOf(files, device);
  if (disk.startsWith('dm-')) return `/dev/${disk}`;
  const blocks = (await files.exists('/sys/block')) ? await files.readDir('/sys/block') : [];
  for (const name of blocks.filter((each) => each.startsWith('dm-')))
    if (await files.exists(`/sys/block/${name}/slaves/${disk}`)) return `/dev/${name}`;
  return undefined;
}

/**
 * The device to mount: the multipath device, which is waited for when there are several paths; otherwise the first
 * path.
 */
export async function multipathDevice(
  { files, clock }: { readonly files: Files; readonly clock: Clock },
  paths: readonly string[],
): Promise<string> {
  const [first = ''] = paths;
  for (const endMs = clock.monotonicMs() + (paths.length > 1 ? WAIT_MS : 0); ; await clock.sleep(POLL_MS)) {
    for (const path of paths) {
      const mapper = await mapperOf(files, path);
      if (mapper !== undefined) return mapper;
    }
    if (clock.monotonicMs() >= endMs) return first;
  }
}

/** Flushes and removes the multipath device before its paths are removed. */
export async function removeMultipath(
  { files, exec }: { readonly files: Files; readonly exec: Exec },
  paths: readonly string[],
): Promise<void> {
  for (const path of paths) {
    const mapper = (await files.exists(path)) ? await mapperOf(files, path) : undefined;
    if (mapper === undefined) continue;
    await runTool(exec, 'blockdev', ['--flushbufs', mapper]);
    await runTool(exec, 'multipath', ['-f', mapper]);
  }
}

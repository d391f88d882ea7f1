/**
 * Mounts a block device; an empty device is formatted first. Upstream: SafeFormatAndMount of k8s.io/mount-utils.
 *
 * Invariant: a device with any known content, a file system or partitions, is never formatted.
 */
import type { Platform } from '../../platform/platform.ts';
import { runTool, tryTool } from './run-tool.ts';
import { toolArgument } from './tool-arguments.ts';

export interface FormatAndMountRequest {
  readonly device: string;
  readonly target: string;
  /** Default ext4. */
  readonly fsType: string;
  readonly readOnly: boolean;
  readonly options: readonly string[];
}

/** blkid's exit code when it finds no known content. */
const BLKID_NOTHING = 2;
/** fsck's exit codes: everything was repaired; errors remain. */
const FSCK_CORRECTED = 1;
const FSCK_UNCORRECTED = 4;

/** Rejects when the device has other content, is damaged, or cannot be mounted. */
export async function formatAndMount(
  platform: Pick<Platform, 'exec' | 'mounter' | 'log'>,
  request: FormatAndMountRequest,
): Promise<void> {
  const { exec, mounter } = platform;
  const { target, readOnly } = request;
  const device = toolArgument('device', request.device, 'absolutePath');
  const fsType = request.fsType === '' ? 'ext4' : toolArgument('fsType', request.fsType, 'fileSystem');
  const existing = await contentOf(platform, device);
  if (existing === '') {
    if (readOnly)
      throw new Error(`cannot mount unformatted disk ${device} as we are manipulating it in read-only mode`);
    const options = fsType === 'ext3' || fsType === 'ext4' ? ['-F', '-m0'] : fsType === 'xfs' ? ['-f'] : [];
    await runTool(exec, `mkfs.${fsType}`, [...options, device]);
  } else if (existing !== fsType) {
    throw new Error(`failed to mount the volume as "${fsType}", it already contains ${existing}`);
  } else if (!readOnly) {
    await check(platform, device);
  }
  const options = ['defaults', ...request.options, ...(readOnly ? ['ro'] : [])];
  await mounter.mount({ source: device, target, type: fsType, options });
}

/** The type of the file system, a word for partitions, or ''. */
async function contentOf({ exec }: Pick<Platform, 'exec'>, device: string): Promise<string> {
  const args = ['-p', '-s', 'TYPE', '-s', 'PTTYPE', '-o', 'export', device];
  const { exitCode, stdout, stderr } = await tryTool(exec, 'blkid', args);
  if (exitCode === BLKID_NOTHING) return '';
  if (exitCode !== 0) throw new Error(`blkid ${device} failed: exit status ${exitCode}: ${stderr.trim()}`);
  const facts = new Map(stdout.split('\n').map((line) => line.split('=', 2) as [string, string]));
  const type = facts.get('TYPE') ?? '';
  if (type !== '') return type;
  return facts.has('PTTYPE') ? 'unknown data, probably partitions' : '';
}

async function check({ exec, log }: Pick<Platform, 'exec' | 'log'>, device: string): Promise<void> {
  const result = await tryTool(exec, 'fsck', ['-a', device]).catch((error: unknown) => {
    log.warn("'fsck' not found on system; continuing mount without running 'fsck'", { device, err: error });
    return undefined;
  });
  if (result === undefined) return;
  if (result.exitCode === FSCK_CORRECTED) log.info('Device has errors which were corrected by fsck', { device });
  if (result.exitCode === FSCK_UNCORRECTED)
    throw new Error(`'fsck' found errors on device ${device} but could not correct them: ${result.stdout.trim()}`);
}

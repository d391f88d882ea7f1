/**
 * A LUN on a Fibre Channel fabric, found by udev's links: by the targets' world wide names and the LUN, or by the
 * disk's id. Upstream: pkg/volume/fc. Several paths are combined where multipathd runs.
 */
import { setUpShared, tearDownShared, type DeviceData } from '../../shared-devices.ts';
import { diskNameOf, multipathDevice, removeMultipath } from '../../multipath.ts';
import { runTool } from '../../run-tool.ts';
import type { VolumePlugin, VolumePluginDeps } from '../../volume-plugin.ts';

const NAME = 'kubernetes.io/fc';
const BY_PATH = '/dev/disk/by-path';
const BY_ID = '/dev/disk/by-id';
const SCSI_HOSTS = '/sys/class/scsi_host';
const SCAN_WAIT_MS = 1_000;

export const fcPlugin: VolumePlugin = {
  name: NAME,
  supports: (source) => source.fc !== undefined,
  place: 'disk',
  ownsContent: false,
  live: false,
  async setUp(request, deps) {
    const { targetWWNs = [], lun, wwids = [], fsType = '', readOnly = false } = request.spec.source.fc!;
    const data = { wwns: targetWWNs.join(' '), lun: String(lun ?? ''), wwids: wwids.join('\n') };
    return setUpShared(request, deps, {
      plugin: NAME,
      // Upstream names the device's directory by the first world wide name.
      key: targetWWNs.length > 0 ? `${targetWWNs[0]}-lun-${lun}` : (wwids[0] ?? ''),
      data,
      fsType,
      readOnly: request.spec.readOnly || readOnly,
      block: request.spec.persistentVolume?.spec?.volumeMode === 'Block',
      attach: () => attach(deps, data),
    });
  },
  tearDown: (request, deps) => tearDownShared(request, deps, { plugin: NAME, detach: (data) => detach(deps, data) }),
};

/** Existing links in /dev/disk for the disk's paths. */
async function pathsOf({ platform }: VolumePluginDeps, data: DeviceData): Promise<string[]> {
  const { files } = platform;
  const { wwns = '', lun = '', wwids = '' } = data;
  const entries = async (dir: string): Promise<string[]> => ((await files.exists(dir)) ? files.readDir(dir) : []);
  const ends = wwns.split(' ').flatMap((wwn) => (wwn === '' ? [] : `-fc-0x${wwn.toLowerCase()}-lun-${lun}`));
  const found = ends.length === 0 ? [] : await entries(BY_PATH);
  const byPath = found.filter((each) => ends.some((end) => `-${each}`.toLowerCase().endsWith(end)));
  // udev writes spaces as underscores; an id may already have the prefix.
  const ids = wwids.split('\n').flatMap((id) => (id === '' ? [] : `scsi-${id.replaceAll(' ', '_')}`));
  const byId = ids.length === 0 ? [] : (await entries(BY_ID)).filter((each) => ids.includes(each));
  return [...byPath.map((each) => `${BY_PATH}/${each}`), ...byId.map((each) => `${BY_ID}/${each}`)].sort();
}

async function attach(deps: VolumePluginDeps, data: DeviceData): Promise<string> {
  const { platform } = deps;
  let paths = await pathsOf(deps, data);
  if (paths.length === 0) {
    await rescan(deps);
    await platform.clock.sleep(SCAN_WAIT_MS);
    paths = await pathsOf(deps, data);
  }
  if (paths.length === 0) throw new Error('no fc disk found');
  return multipathDevice(platform, paths);
}

async function rescan({ platform: { files } }: VolumePluginDeps): Promise<void> {
  const hosts = (await files.exists(SCSI_HOSTS)) ? await files.readDir(SCSI_HOSTS) : [];
  for (const host of hosts) await files.writeFile(`${SCSI_HOSTS}/${host}/scan`, '- - -');
}

/** Flushes the disk's buffers, then removes the disk from the kernel. */
async function detach(deps: VolumePluginDeps, data: DeviceData): Promise<void> {
  const { files, exec } = deps.platform;
  const paths = await pathsOf(deps, data);
  const disks = new Set<string>();
  for (const path of paths) disks.add(await diskNameOf(files, path));
  await removeMultipath({ files, exec }, paths);
  for (const disk of disks) {
    if (disk.startsWith('dm-')) continue;
    await runTool(exec, 'blockdev', ['--flushbufs', `/dev/${disk}`]);
    await files.writeFile(`/sys/block/${disk}/device/delete`, '1');
  }
}

/**
 * Records of CSI volumes on disk, sufficient to tear them down after a restart: one beside each volume of a pod and
 * one beside each staged volume, in upstream's files (`vol_data.json`). Upstream: pkg/volume/csi/csi_util.go.
 *
 * Differs: a record also says whether the driver was called yet, so that tearing down a volume that never was needs
 * no driver; block volumes use the same paths as file systems.
 */
import { hasErrorCode } from '../../../base/errors.ts';
import type { Platform } from '../../../platform/platform.ts';
import { escapePluginName } from '../volume-paths.ts';
import { appendAll } from '../../../base/lists.ts';

/** The plugin's name in paths and unique volume names. */
const CSI_PLUGIN = 'kubernetes.io/csi';
const RECORD = 'vol_data.json';

export interface PodVolumeRecord {
  readonly specVolID: string;
  readonly driverName: string;
  readonly volumeHandle: string;
  readonly volumeLifecycleMode: 'Persistent' | 'Ephemeral';
  readonly nodeName: string;
  readonly attachmentID: string;
  /** NodePublishVolume was called. */
  readonly publishing: boolean;
}

/** A persistent volume on this node, shared by the pods that use it. */
export interface DeviceRecord {
  readonly driverName: string;
  readonly volumeHandle: string;
  /** Empty: it was not attached. */
  readonly attachmentID: string;
  /** NodeStageVolume was called. */
  readonly staging: boolean;
}

/** Paths and records below a kubelet root. */
export interface CsiRecords {
  /** The path at which the driver publishes a pod's volume; `dir` is the volume's directory. */
  targetPath(dir: string): string;
  /** The path at which the driver stages the volume. */
  stagingPath(driver: string, handle: string): string;
  readPodVolume(dir: string): Promise<PodVolumeRecord | undefined>;
  writePodVolume(dir: string, record: PodVolumeRecord): Promise<void>;
  removePodVolume(dir: string): Promise<void>;
  /** Volume records of all pods on this node. */
  podVolumes(): Promise<readonly PodVolumeRecord[]>;
  readDevice(driver: string, handle: string): Promise<DeviceRecord | undefined>;
  writeDevice(record: DeviceRecord): Promise<void>;
  removeDevice(record: DeviceRecord): Promise<void>;
  devices(): Promise<readonly DeviceRecord[]>;
}

/** Records that cannot be read reject: no volume may be mistaken for unused. */
export function createCsiRecords(platform: Pick<Platform, 'files' | 'crypto'>, kubeletRoot: string): CsiRecords {
  const { files, crypto } = platform;
  const devicesRoot = `${kubeletRoot}/plugins/${CSI_PLUGIN}`;
  const podsDir = `${kubeletRoot}/pods`;
  const deviceDir = (driver: string, handle: string): string => `${devicesRoot}/${driver}/${crypto.sha256Hex(handle)}`;

  const read = async <T>(dir: string): Promise<T | undefined> => {
    const path = `${dir}/${RECORD}`;
    if (!(await files.exists(path))) return undefined;
    try {
      return JSON.parse(await files.readText(path)) as T;
    } catch (error) {
      throw new Error(`failed to load volume data file ${path}: ${error instanceof Error ? error.message : ''}`, {
        cause: error,
      });
    }
  };
  const write = async (dir: string, record: object): Promise<void> => {
    await files.makeDir(dir, { mode: 0o750 });
    await files.writeFileAtomic(`${dir}/${RECORD}`, JSON.stringify(record), { mode: 0o600 });
  };
  const below = async (dir: string): Promise<string[]> => {
    try {
      return (await files.readDir(dir)).map((name) => `${dir}/${name}`);
    } catch (error) {
      if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return [];
      throw error;
    }
  };
  const readAll = async <T>(dirs: readonly string[]): Promise<T[]> => {
    const found: T[] = [];
    for (const dir of dirs) {
      const record = await read<T>(dir);
      if (record !== undefined) found.push(record);
    }
    return found;
  };

  return {
    targetPath: (dir) => `${dir}/mount`,
    stagingPath: (driver, handle) => `${deviceDir(driver, handle)}/globalmount`,
    readPodVolume: (dir) => read(dir),
    writePodVolume: write,
    async removePodVolume(dir) {
      await files.remove(`${dir}/${RECORD}`);
      await removeEmpty(platform.files, dir);
    },
    async podVolumes() {
      const dirs: string[] = [];
      for (const pod of await below(podsDir))
        appendAll(dirs, await below(`${pod}/volumes/${escapePluginName(CSI_PLUGIN)}`));
      return readAll(dirs);
    },
    readDevice: (driver, handle) => read(deviceDir(driver, handle)),
    writeDevice: (record) => write(deviceDir(record.driverName, record.volumeHandle), record),
    async removeDevice({ driverName, volumeHandle }) {
      const dir = deviceDir(driverName, volumeHandle);
      await removeEmpty(files, `${dir}/globalmount`);
      await files.remove(`${dir}/${RECORD}`);
      await removeEmpty(files, dir);
    },
    async devices() {
      const dirs: string[] = [];
      for (const driver of await below(devicesRoot)) appendAll(dirs, await below(driver));
      return readAll(dirs);
    },
  };
}

async function removeEmpty(files: Platform['files'], dir: string): Promise<void> {
  try {
    await files.removeDir(dir);
  } catch (error) {
    if (!hasErrorCode(error, 'ENOENT')) throw error;
  }
}

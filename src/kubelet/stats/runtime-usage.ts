/**
 * Usage of containers and pods as the runtime reports it. Upstream: stats/cri_stats_provider.go.
 *
 * Of several runs of a container only the newest counts. Statistics of whole pods (network, tasks) are optional in
 * CRI; a runtime without them is asked once.
 */
import type { ContainerStats as CriContainerStats, FilesystemUsage, PodSandboxStats } from '../../cri/gen/cri-types.ts';
import type { CriRuntime } from '../../cri/runtime-service.ts';
import { isCriCode } from '../../cri/cri-error.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Pressures } from '../../platform/pressure.ts';
import { CONTAINER_NAME_LABEL, POD_UID_LABEL } from '../runtime/labels.ts';
import { criPressures } from './runtime-pressures.ts';
import { spaceOf, type DeviceSpace } from './space.ts';
import type { FsStats, InterfaceStats } from './summary-types.ts';

/** Absent: the runtime does not report it. */
export interface ContainerUsage {
  readonly id: string;
  readonly name: string;
  readonly timeMs: number;
  readonly cpuUsageNs?: number;
  readonly workingSetBytes?: number;
  readonly usageBytes?: number;
  readonly rssBytes?: number;
  readonly availableBytes?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
  readonly swapBytes?: number;
  readonly rootfsUsedBytes?: number;
  readonly rootfsInodesUsed?: number;
  readonly pressures?: Pressures;
}

export interface PodUsage {
  readonly containers: readonly ContainerUsage[];
  readonly interfaces?: readonly InterfaceStats[];
  readonly processes?: number;
  readonly pressures?: Pressures;
}

export interface RuntimeFileSystems {
  readonly imageFs?: Omit<FsStats, 'time'>;
  /** The file system of containers' writable layers; mostly that of images. */
  readonly containerFs?: Omit<FsStats, 'time'>;
}

/** Readings of the runtime. */
export interface RuntimeUsage {
  /** By pod uid. */
  pods(): Promise<ReadonlyMap<string, PodUsage>>;
  /**
   * File systems of images and writable layers; absent where the runtime reports none. `spaceAt` reads a file
   * system's space.
   */
  fileSystems(spaceAt: (path: string) => Promise<DeviceSpace>): Promise<RuntimeFileSystems>;
}

export function createRuntimeUsage({
  cri,
  files,
}: {
  readonly cri: CriRuntime;
  readonly files: Platform['files'];
}): RuntimeUsage {
  let listsPods = true;
  async function sandboxes(): Promise<readonly PodSandboxStats[]> {
    if (!listsPods) return [];
    try {
      return (await cri.runtime.listPodSandboxStats({})).stats;
    } catch (error) {
      if (!isCriCode(error, 'Unimplemented')) return oneByOne();
      listsPods = false;
      return [];
    }
  }
  /**
   * containerd 1.6 fails the whole list when the cgroup of one sandbox is gone: sandboxes are then read one by one,
   * and failing ones left out.
   */
  async function oneByOne(): Promise<readonly PodSandboxStats[]> {
    const { items } = await cri.runtime.listPodSandbox({ filter: { state: { state: 'SANDBOX_READY' } } });
    const pending = items.map(({ id }) =>
      cri.runtime.podSandboxStats({ podSandboxId: id }).then(
        ({ stats }) => stats,
        () => undefined,
      ),
    );
    return (await Promise.all(pending)).filter((stats) => stats !== undefined);
  }
  return {
    async pods() {
      const [{ stats }, ofPods] = await Promise.all([cri.runtime.listContainerStats({}), sandboxes()]);
      return byPod(newestRuns(stats), ofPods);
    },
    async fileSystems(spaceAt) {
      const { imageFilesystems, containerFilesystems } = await cri.images.imageFsInfo({});
      const stats = async (reported: FilesystemUsage | undefined): Promise<Omit<FsStats, 'time'> | undefined> => {
        const mountpoint = reported?.fsId?.mountpoint;
        if (reported === undefined || mountpoint === undefined || !(await files.exists(mountpoint))) return undefined;
        const space = await spaceAt(mountpoint);
        return {
          ...spaceOf(space),
          ...valueField('usedBytes', reported.usedBytes),
          ...valueField('inodesUsed', reported.inodesUsed),
        };
      };
      const [imageFs, ownFs] = await Promise.all([stats(imageFilesystems[0]), stats(containerFilesystems[0])]);
      // A runtime that reports only one has images and writable layers on it.
      const containerFs = ownFs ?? imageFs;
      return { imageFs, containerFs };
    },
  };
}

function valueField<K extends string>(
  name: K,
  field: { readonly value: number } | undefined,
): Partial<Record<K, number>> {
  return field === undefined ? {} : ({ [name]: Number(field.value) } as Partial<Record<K, number>>);
}

function newestRuns(all: readonly CriContainerStats[]): readonly CriContainerStats[] {
  const newest = new Map<string, CriContainerStats>();
  for (const stats of all) {
    const { labels = {}, metadata } = stats.attributes ?? {};
    const key = `${labels[POD_UID_LABEL]}/${labels[CONTAINER_NAME_LABEL]}`;
    const containerStats = newest.get(key);
    if (containerStats === undefined || (metadata?.attempt ?? 0) >= (containerStats.attributes?.metadata?.attempt ?? 0))
      newest.set(key, stats);
  }
  return [...newest.values()];
}

function byPod(containers: readonly CriContainerStats[], sandboxes: readonly PodSandboxStats[]): Map<string, PodUsage> {
  const pods = new Map<string, PodUsage & { containers: ContainerUsage[] }>();
  const podOf = (uid: string): PodUsage & { containers: ContainerUsage[] } => {
    let pod = pods.get(uid);
    if (pod === undefined) pods.set(uid, (pod = { containers: [] }));
    return pod;
  };
  for (const stats of containers) {
    const uid = stats.attributes?.labels[POD_UID_LABEL];
    if (uid !== undefined) podOf(uid).containers.push(containerUsage(stats));
  }
  for (const { attributes, linux } of sandboxes) {
    const uid = attributes?.labels[POD_UID_LABEL];
    if (uid === undefined || linux === undefined) continue;
    const { network, process, cpu, memory, io } = linux;
    const pressures = criPressures({ cpu: cpu?.psi, memory: memory?.psi, io: io?.psi });
    const all = [
      ...(network?.defaultInterface === undefined ? [] : [network.defaultInterface]),
      ...(network?.interfaces ?? []),
    ];
    const interfaces = all.map((own) => ({
      name: own.name,
      ...valueField('rxBytes', own.rxBytes),
      ...valueField('rxErrors', own.rxErrors),
      ...valueField('txBytes', own.txBytes),
      ...valueField('txErrors', own.txErrors),
    }));
    pods.set(uid, {
      ...podOf(uid),
      ...(interfaces.length === 0 ? {} : { interfaces }),
      ...(pressures === undefined ? {} : { pressures }),
      ...(process?.processCount === undefined ? {} : { processes: Number(process.processCount.value) }),
    });
  }
  return pods;
}

function containerUsage({ attributes, cpu, memory, io, swap, writableLayer }: CriContainerStats): ContainerUsage {
  const pressures = criPressures({ cpu: cpu?.psi, memory: memory?.psi, io: io?.psi });
  return {
    id: attributes?.id ?? '',
    name: attributes?.labels[CONTAINER_NAME_LABEL] ?? attributes?.metadata?.name ?? '',
    timeMs: Number(cpu?.timestampMs ?? memory?.timestampMs ?? 0),
    ...valueField('cpuUsageNs', cpu?.usageCoreNanoSeconds),
    ...valueField('workingSetBytes', memory?.workingSetBytes),
    ...valueField('usageBytes', memory?.usageBytes),
    ...valueField('rssBytes', memory?.rssBytes),
    // containerd reports 0 for containers without a limit.
    ...(Number(memory?.availableBytes?.value ?? 0) > 0 ? valueField('availableBytes', memory?.availableBytes) : {}),
    ...valueField('pageFaults', memory?.pageFaults),
    ...valueField('majorPageFaults', memory?.majorPageFaults),
    ...valueField('swapBytes', swap?.swapUsageBytes),
    ...valueField('rootfsUsedBytes', writableLayer?.usedBytes),
    ...valueField('rootfsInodesUsed', writableLayer?.inodesUsed),
    pressures,
  };
}

/** One reading of the node and its pods, from which all documents are computed. */
import { podUid } from '../types/pod-update.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { hasErrorCode } from '../../base/errors.ts';
import type { CgroupStats, Cgroups } from '../../platform/cgroups.ts';
import type { Platform } from '../../platform/platform.ts';
import type { PodCgroups } from '../cgroups/create-pod-container-manager.ts';
import type { KubeletHost } from '../server/host.ts';
import { readNodeSupply, readNodeUsage, type NodeUsage } from './node-usage.ts';
import type { PodUsage, RuntimeUsage } from './runtime-usage.ts';

/** A pod of the node and its usage. */
export interface PodReading {
  readonly pod: Pod;
  /** Usage of running containers only: an exited one has no rates, which would make the pod's sums incomplete. */
  readonly usage: PodUsage;
  readonly cgroup?: CgroupStats;
  /** By container id. */
  readonly startedAtMs: ReadonlyMap<string, number>;
  readonly images: ReadonlyMap<string, string>;
}

export interface NodeSnapshot {
  readonly nowMs: number;
  readonly node: NodeUsage;
  /** The cgroup of all pods, if there is one. */
  readonly allPods?: CgroupStats;
  readonly pods: readonly PodReading[];
}

export interface SnapshotDeps {
  readonly platform: Pick<Platform, 'clock' | 'files' | 'host' | 'cgroups'>;
  readonly runtime: RuntimeUsage;
  readonly host: KubeletHost;
  readonly podCgroups: PodCgroups;
}

/** Reads the resources of eviction signals, and the usage of all pods together. */
export async function takeNodeSnapshot(deps: Omit<SnapshotDeps, 'host' | 'runtime'>): Promise<NodeSnapshot> {
  const { platform, podCgroups } = deps;
  const [node, allPods] = await Promise.all([readNodeSupply(platform), statsOf(platform.cgroups, podCgroups.rootName)]);
  return { nowMs: platform.clock.nowMs(), node, pods: [], allPods };
}

/**
 * Rejects when the runtime or the host cannot be read. Cgroups that have ended and pods without a running container
 * are left out. Upstream: removeTerminatedContainers in stats/cri_stats_provider.go.
 */
export async function takeSnapshot(deps: SnapshotDeps): Promise<NodeSnapshot> {
  const { platform, host, podCgroups } = deps;
  const [node, usages] = await Promise.all([readNodeUsage(platform), deps.runtime.pods()]);
  const pods: PodReading[] = [];
  for (const pod of host.pods()) {
    const uid = podUid(pod);
    const usage = usages.get(uid);
    if (usage === undefined) continue;
    const containers = (host.podStatus(uid)?.containers ?? []).filter(({ state }) => state === 'running');
    const running = new Set(containers.map(({ id }) => id));
    const used = usage.containers.filter(({ id }) => running.has(id));
    if (used.length === 0) continue;
    const cgroup = await statsOf(platform.cgroups, podCgroups.cgroupName(pod));
    pods.push({
      pod,
      usage: { ...usage, containers: used },
      cgroup,
      startedAtMs: new Map(containers.map(({ id, startedAtMs }) => [id, startedAtMs])),
      images: new Map(containers.map(({ id, image }) => [id, image])),
    });
  }
  const allPods = await statsOf(platform.cgroups, podCgroups.rootName);
  return { nowMs: platform.clock.nowMs(), node, pods, allPods };
}

async function statsOf(cgroups: Cgroups, name: string | undefined): Promise<CgroupStats | undefined> {
  if (name === undefined) return undefined;
  try {
    return (await cgroups.exists(name)) ? await cgroups.stats(name) : undefined;
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENODEV')) return undefined;
    throw error;
  }
}

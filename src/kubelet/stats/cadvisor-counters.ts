/**
 * Counters that CRI does not have: CFS throttling, memory by kind, block devices, OOM kills and packets. Read only
 * for `/metrics/cadvisor`, from cgroups and from the network files of a process of each pod. Upstream: cadvisor's
 * container/libcontainer.
 */
import { podUid } from '../types/pod-update.ts';
import type { CgroupCounters, Cgroups } from '../../platform/cgroups.ts';
import type { Platform } from '../../platform/platform.ts';
import type { PodCgroups } from '../cgroups/create-pod-container-manager.ts';
import type { NodeSnapshot } from './snapshot.ts';

export interface InterfacePackets {
  readonly name: string;
  readonly rxPackets: number;
  readonly rxDropped: number;
  readonly txPackets: number;
  readonly txDropped: number;
}

export interface PodCounters {
  readonly own: CgroupCounters | undefined;
  /** By container id. */
  readonly containers: ReadonlyMap<string, CgroupCounters>;
  /** Packets by interface; empty for pods with the host's network, as upstream. */
  readonly packets: readonly InterfacePackets[];
}

/** Counters of all pods of a snapshot. */
export interface NodeCounters {
  /** By pod uid. */
  readonly pods: ReadonlyMap<string, PodCounters>;
  /** Paths like `/dev/sda` by `major:minor`. */
  readonly deviceNames: ReadonlyMap<string, string>;
}

interface CounterDeps {
  readonly platform: { readonly cgroups: Cgroups; readonly files: Pick<Platform['files'], 'readText'> };
  readonly podCgroups: PodCgroups;
}

/** Reads the counters. Cgroups and processes that have ended meanwhile are left out. */
export async function readCounters(deps: CounterDeps, { pods }: NodeSnapshot): Promise<NodeCounters> {
  const read = new Map<string, PodCounters>();
  for (const { pod, usage } of pods) {
    const name = deps.podCgroups.cgroupName(pod);
    if (name === undefined) continue;
    const containers = new Map<string, CgroupCounters>();
    for (const { id } of usage.containers) {
      const counters = await deps.platform.cgroups.counters(name, id);
      if (counters !== undefined) containers.set(id, counters);
    }
    read.set(podUid(pod), {
      own: await deps.platform.cgroups.counters(name),
      containers,
      packets: pod.spec?.hostNetwork === true ? [] : await packetsOf(deps, name),
    });
  }
  return { pods: read, deviceNames: deviceNames(await readOptional(deps, '/proc/diskstats')) };
}

/** Reads the interfaces through any process of the pod. */
async function packetsOf(deps: CounterDeps, name: string): Promise<readonly InterfacePackets[]> {
  const { cgroups } = deps.platform;
  if (!(await cgroups.exists(name))) return [];
  const [pid] = await cgroups.pids(name);
  return pid === undefined ? [] : parsePackets(await readOptional(deps, `/proc/${pid}/net/dev`));
}

async function readOptional({ platform }: CounterDeps, path: string): Promise<string> {
  try {
    return await platform.files.readText(path);
  } catch (error) {
    const { code = '' } = error as { code?: string };
    if (['ENOENT', 'ESRCH', 'EINVAL'].includes(code)) return '';
    throw error;
  }
}

/** Packets and drops of each interface in a `net/dev` file, without loopback. */
function parsePackets(text: string): readonly InterfacePackets[] {
  return [...text.matchAll(/^\s*([^:\s]+):\s*(.*)$/gm)].flatMap(([, name = '', rest = '']) => {
    const counters = rest.trim().split(/\s+/).map(Number);
    if (name === 'lo' || counters.length < 12) return [];
    const [, rxPackets = 0, , rxDropped = 0, , , , , , txPackets = 0, , txDropped = 0] = counters;
    return [{ name, rxPackets, rxDropped, txPackets, txDropped }];
  });
}

function deviceNames(diskstats: string): Map<string, string> {
  return new Map(
    [...diskstats.matchAll(/^\s*(\d+)\s+(\d+)\s+(\S+)/gm)].map(([, major, minor, name]) => [
      `${major}:${minor}`,
      `/dev/${name}`,
    ]),
  );
}

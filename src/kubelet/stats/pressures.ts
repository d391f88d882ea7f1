/**
 * Pressure stall information of the node, its pods and containers. Upstream: KubeletPSI (KEP-4205).
 *
 * The runtime's readings take precedence over those of cgroups. The node's is read from /proc, so it exists with
 * cgroups v1 too (upstream: only v2). Read only for documents that show it.
 */
import { podUid } from '../types/pod-update.ts';
import type { Platform } from '../../platform/platform.ts';
import { collectPressures, type Pressures } from '../../platform/pressure.ts';
import type { PodCgroups } from '../cgroups/create-pod-container-manager.ts';
import type { NodeSnapshot, PodReading } from './snapshot.ts';
import type { CpuStats, IoStats, MemoryStats } from './summary-types.ts';

export interface PodPressures {
  readonly own: Pressures;
  /** By container id. */
  readonly containers: ReadonlyMap<string, Pressures>;
}

/** The pressures of a snapshot. */
export interface NodePressures {
  readonly node: Pressures;
  readonly allPods: Pressures;
  /** By pod uid. */
  readonly pods: ReadonlyMap<string, PodPressures>;
}

export interface PressureDeps {
  readonly platform: Pick<Platform, 'files' | 'cgroups'>;
  readonly podCgroups: PodCgroups;
  /** Called for a file that cannot be read: only its pressure is left out. */
  readonly failed: (error: unknown) => void;
}

export async function readPressures(deps: PressureDeps, { pods }: NodeSnapshot): Promise<NodePressures> {
  const { platform, podCgroups } = deps;
  const node = await collectPressures(async (resource) => readProc(deps, `/proc/pressure/${resource}`));
  // A kernel without pressures of the machine has none of cgroups either, so their files are not read.
  const hasValues = Object.keys(node).length > 0;
  const ofCgroup = async (name: string | undefined, containerId?: string): Promise<Pressures> => {
    if (!hasValues || name === undefined) return {};
    try {
      return await platform.cgroups.pressures(name, containerId);
    } catch (error) {
      deps.failed(error);
      return {};
    }
  };
  const ofPod = async ({ pod, usage }: PodReading): Promise<PodPressures> => {
    const name = podCgroups.cgroupName(pod);
    const containers = usage.containers.map(
      async (container) => [container.id, container.pressures ?? (await ofCgroup(name, container.id))] as const,
    );
    return { own: usage.pressures ?? (await ofCgroup(name)), containers: new Map(await Promise.all(containers)) };
  };
  const read = new Map<string, PodPressures>();
  for (const reading of pods) read.set(podUid(reading.pod), await ofPod(reading));
  return { node, allPods: await ofCgroup(podCgroups.rootName), pods: read };
}

async function readProc({ platform, failed }: PressureDeps, path: string): Promise<string | undefined> {
  try {
    return await platform.files.readText(path);
  } catch (error) {
    const { code = '' } = error as { code?: string };
    if (!['ENOENT', 'ENOTSUP'].includes(code)) failed(error);
    return undefined;
  }
}

interface MeasuredUse {
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
}

/** The summary's parts with their pressures; `io` consists of pressure only. */
export function withPressures(
  measured: MeasuredUse,
  pressures: Pressures | undefined,
  time: string,
): MeasuredUse & { io?: IoStats } {
  const { cpu, memory, io } = pressures ?? {};
  return {
    ...(measured.cpu === undefined ? {} : { cpu: cpu === undefined ? measured.cpu : { ...measured.cpu, psi: cpu } }),
    ...(measured.memory === undefined
      ? {}
      : { memory: memory === undefined ? measured.memory : { ...measured.memory, psi: memory } }),
    ...(io === undefined ? {} : { io: { time, psi: io } }),
  };
}

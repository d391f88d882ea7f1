/**
 * Cgroups of the unified hierarchy. Controllers are enabled from the mount down to the parent of each cgroup made here.
 * Upstream: kubelet/cm/cgroup_v2_manager_impl.go, opencontainers/cgroups/fs2.
 */
import { cpuSharesToWeight, type CgroupResources, type Cgroups, type CgroupStats } from '../cgroups.ts';
import { readCountersV2 } from './cgroup-counters.ts';
import {
  type CgroupDeps,
  childDirectories,
  destroyTree,
  isGone,
  parseFlatKeyed,
  pidsBelow,
  readCgroupFile,
  readPressures,
} from './cgroup-files.ts';

const WANTED_CONTROLLERS = ['cpu', 'cpuset', 'memory', 'pids', 'io', 'hugetlb'];
const DEFAULT_CPU_PERIOD_US = 100_000;

/** The operations of version 2 on directories; names are checked by the caller. */
export type CgroupHierarchy = Omit<Cgroups, 'version' | 'criParent'>;

/** Works on `mountRoot` + `root` + name. */
export function createCgroupsV2(
  deps: CgroupDeps,
  where: { readonly mountRoot: string; readonly root: string },
): CgroupHierarchy {
  const { files } = deps;
  const pathOf = (name: string): string => `${where.mountRoot}${where.root}${name === '/' ? '' : name}`;
  const create = async (name: string, resources: CgroupResources): Promise<void> => {
    const path = pathOf(name);
    let parent = where.mountRoot;
    for (const part of path.slice(where.mountRoot.length + 1).split('/')) {
      await enableControllers(deps, parent);
      parent = `${parent}/${part}`;
      await files.makeDir(parent);
    }
    await applyLimits(deps, path, resources);
  };
  return {
    exists: (name) => files.exists(pathOf(name)),
    create,
    update: (name, resources) => applyLimits(deps, pathOf(name), resources),
    async destroy(name) {
      const path = pathOf(name);
      try {
        if (await files.exists(`${path}/cgroup.kill`)) await files.writeFile(`${path}/cgroup.kill`, '1');
      } catch (error) {
        if (!isGone(error)) throw error;
      }
      await destroyTree(deps, path);
    },
    addProcess: (name, pid) => files.writeFile(`${pathOf(name)}/cgroup.procs`, String(pid)),
    pids: (name) => pidsBelow(files, pathOf(name)),
    stats: (name) => readStats(deps, pathOf(name)),
    async memoryMax(name) {
      const limit = await readCgroupFile(deps.files, `${pathOf(name)}/memory.max`);
      return limit === 'max' ? limit : Number(limit);
    },
    pressures: (name, containerId) => readPressures(files, pathOf(name), containerId),
    counters: (name, containerId) => readCountersV2(files, pathOf(name), containerId),
    children: (name) => childDirectories(files, pathOf(name)),
  };
}

async function enableControllers(deps: CgroupDeps, path: string): Promise<void> {
  const available = new Set((await readCgroupFile(deps.files, `${path}/cgroup.controllers`)).split(' '));
  const enabled = new Set((await readCgroupFile(deps.files, `${path}/cgroup.subtree_control`)).split(' '));
  const missing = WANTED_CONTROLLERS.filter((name) => available.has(name) && !enabled.has(name));
  for (const name of missing) {
    try {
      await deps.files.writeFile(`${path}/cgroup.subtree_control`, `+${name}`);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EBUSY') throw error;
      throw Object.assign(
        new Error(
          `cannot enable the ${name} controller in ${path}: the cgroup has processes of its own (move them to a child, or delegate an empty one)`,
        ),
        { code, cause: error },
      );
    }
  }
}

async function applyLimits(deps: CgroupDeps, path: string, resources: CgroupResources): Promise<void> {
  const values = new Map<string, string>();
  const { memoryMaxBytes, cpuShares, cpuQuotaUs, cpuPeriodUs, pidsMax } = resources;
  if (memoryMaxBytes !== undefined) values.set('memory.max', String(memoryMaxBytes));
  if (cpuShares !== undefined) values.set('cpu.weight', String(cpuSharesToWeight(cpuShares)));
  if (cpuQuotaUs !== undefined) values.set('cpu.max', `${cpuQuotaUs} ${cpuPeriodUs ?? DEFAULT_CPU_PERIOD_US}`);
  if (pidsMax !== undefined) values.set('pids.max', String(pidsMax));
  for (const [size, bytes] of Object.entries(resources.hugePageLimits ?? {}))
    values.set(`hugetlb.${size}.max`, String(bytes));
  for (const [file, value] of Object.entries(resources.unified ?? {})) values.set(file, value);
  for (const [file, value] of values) await deps.files.writeFile(`${path}/${file}`, value);
}

async function readStats(deps: CgroupDeps, path: string): Promise<CgroupStats> {
  const read = (file: string): Promise<string> => readCgroupFile(deps.files, `${path}/${file}`);
  const [cpu, current, memory, pids] = await Promise.all([
    read('cpu.stat').then(parseFlatKeyed),
    read('memory.current').then(Number),
    read('memory.stat').then(parseFlatKeyed),
    read('pids.current').then(Number),
  ]);
  return {
    cpuUsageNs: (cpu.get('usage_usec') ?? 0) * 1000,
    memoryUsageBytes: current,
    memoryWorkingSetBytes: Math.max(0, current - (memory.get('inactive_file') ?? 0)),
    memoryRssBytes: memory.get('anon') ?? 0,
    pageFaults: memory.get('pgfault') ?? 0,
    majorPageFaults: memory.get('pgmajfault') ?? 0,
    pids,
  };
}

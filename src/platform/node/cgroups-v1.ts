/**
 * Cgroups of version 1: the same name below each controller's own mount. Upstream: kubelet/cm/cgroup_v1_manager_impl.go,
 * opencontainers/cgroups/fs.
 */
import type { CgroupResources, CgroupStats } from '../cgroups.ts';
import { readCountersV1 } from './cgroup-counters.ts';
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
import type { CgroupHierarchy } from './cgroups-v2.ts';

/**
 * Hierarchies without a controller: runc creates containers' cgroups there too, so they must be removed there as
 * well.
 */
const BARE_HIERARCHIES = ['systemd', 'unified', 'perf_event', 'net_cls', 'net_prio'];

const CONTROLLERS = ['cpu', 'cpuacct', 'cpuset', 'memory', 'devices', 'freezer', 'blkio', 'pids', 'hugetlb'];

/** Works on `mountRoot`/<controller> + `root` + name, for the controllers that are mounted. */
export function createCgroupsV1(
  deps: CgroupDeps,
  where: { readonly mountRoot: string; readonly root: string },
): CgroupHierarchy {
  const { files } = deps;
  let mounted: Promise<string[]> | undefined;
  const mounts = (): Promise<string[]> => (mounted ??= mountedControllers(deps, where.mountRoot));
  const pathIn = (mount: string, name: string): string => `${mount}${where.root}${name === '/' ? '' : name}`;
  const pathOf = (controller: string, name: string): string => pathIn(`${where.mountRoot}/${controller}`, name);
  const update = (name: string, resources: CgroupResources): Promise<void> =>
    applyLimits(deps, (controller) => pathOf(controller, name), resources);
  const paths = async (name: string): Promise<string[]> => (await mounts()).map((mount) => pathIn(mount, name));
  return {
    async exists(name) {
      for (const path of await paths(name)) if (!(await files.exists(path))) return false;
      return true;
    },
    async create(name, resources) {
      for (const path of await paths(name)) await files.makeDir(path);
      await fillCpusets(deps, pathOf('cpuset', name), `${where.mountRoot}/cpuset`);
      await update(name, resources);
    },
    update,
    async destroy(name) {
      await thaw(deps, pathOf('freezer', name));
      for (const path of await paths(name)) await destroyTree(deps, path);
      for (const hierarchy of BARE_HIERARCHIES) {
        const path = pathOf(hierarchy, name);
        if (await files.exists(path)) await destroyTree(deps, path);
      }
    },
    async addProcess(name, pid) {
      for (const path of await paths(name)) await files.writeFile(`${path}/cgroup.procs`, String(pid));
    },
    async pids(name) {
      const pids = new Set<number>();
      for (const path of await paths(name)) for (const pid of await pidsBelow(files, path)) pids.add(pid);
      return [...pids];
    },
    stats: (name) => readStats(deps, (controller) => pathOf(controller, name)),
    async memoryMax(name) {
      const limit = Number(await readCgroupFile(deps.files, `${pathOf('memory', name)}/memory.limit_in_bytes`));
      // Without a limit it is the largest possible number of pages.
      return limit > Number.MAX_SAFE_INTEGER ? 'max' : limit;
    },
    // Version 1 has no pressure; a machine with both has it where runc made the same cgroups in version 2's hierarchy.
    pressures: (name, containerId) => readPressures(files, pathOf('unified', name), containerId),
    counters: (name, containerId) => readCountersV1(files, (controller) => pathOf(controller, name), containerId),
    async children(name) {
      const children = new Set<string>();
      for (const path of await paths(name))
        for (const child of await childDirectories(files, path)) children.add(child);
      return [...children].sort();
    },
  };
}

/** Mounts of our controllers; `cpu` and `cpuacct` are often links to one. */
async function mountedControllers(deps: CgroupDeps, mountRoot: string): Promise<string[]> {
  const byIdentity = new Map<string, string>();
  for (const controller of CONTROLLERS) {
    const path = `${mountRoot}/${controller}`;
    if (!(await deps.files.exists(path))) continue;
    const { dev, ino } = await deps.files.stat(path);
    if (!byIdentity.has(`${dev}:${ino}`)) byIdentity.set(`${dev}:${ino}`, path);
  }
  return [...byIdentity.values()];
}

/** A new cpuset is empty and accepts no process until it has its parent's CPUs and memory nodes. */
async function fillCpusets(deps: CgroupDeps, path: string, mount: string): Promise<void> {
  if (!(await deps.files.exists(path))) return;
  const parts = path.slice(mount.length + 1).split('/');
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    let value = await readCgroupFile(deps.files, `${mount}/${file}`);
    let directory = mount;
    for (const part of parts) {
      directory = `${directory}/${part}`;
      const own = await readCgroupFile(deps.files, `${directory}/${file}`);
      if (own === '' && value !== '') await deps.files.writeFile(`${directory}/${file}`, value);
      value = own || value;
    }
  }
}

/** Thaws the cgroup, since frozen processes cannot be killed. */
async function thaw(deps: CgroupDeps, path: string): Promise<void> {
  try {
    if (await deps.files.exists(`${path}/freezer.state`)) await deps.files.writeFile(`${path}/freezer.state`, 'THAWED');
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

async function applyLimits(
  deps: CgroupDeps,
  pathOf: (controller: string) => string,
  resources: CgroupResources,
): Promise<void> {
  const write = (controller: string, file: string, value: number | 'max'): Promise<void> =>
    deps.files.writeFile(`${pathOf(controller)}/${file}`, String(value === 'max' ? -1 : value));
  const { memoryMaxBytes, cpuShares, cpuQuotaUs, cpuPeriodUs, pidsMax } = resources;
  if (memoryMaxBytes !== undefined) await write('memory', 'memory.limit_in_bytes', memoryMaxBytes);
  if (cpuShares !== undefined) await write('cpu', 'cpu.shares', Math.max(2, cpuShares));
  if (cpuPeriodUs !== undefined) await write('cpu', 'cpu.cfs_period_us', cpuPeriodUs);
  if (cpuQuotaUs !== undefined) await write('cpu', 'cpu.cfs_quota_us', cpuQuotaUs);
  if (pidsMax !== undefined) await deps.files.writeFile(`${pathOf('pids')}/pids.max`, String(pidsMax));
  for (const [size, bytes] of Object.entries(resources.hugePageLimits ?? {})) {
    // Without the controller there are no huge pages to limit.
    if (await deps.files.exists(pathOf('hugetlb'))) await write('hugetlb', `hugetlb.${size}.limit_in_bytes`, bytes);
  }
}

async function readStats(deps: CgroupDeps, pathOf: (controller: string) => string): Promise<CgroupStats> {
  const read = (controller: string, file: string): Promise<string> =>
    readCgroupFile(deps.files, `${pathOf(controller)}/${file}`);
  const [cpu, usage, memory, pids] = await Promise.all([
    read('cpuacct', 'cpuacct.usage').then(Number),
    read('memory', 'memory.usage_in_bytes').then(Number),
    read('memory', 'memory.stat').then(parseFlatKeyed),
    read('pids', 'pids.current').then(Number),
  ]);
  return {
    cpuUsageNs: cpu,
    memoryUsageBytes: usage,
    memoryWorkingSetBytes: Math.max(0, usage - (memory.get('total_inactive_file') ?? 0)),
    memoryRssBytes: memory.get('total_rss') ?? 0,
    pageFaults: memory.get('total_pgfault') ?? 0,
    majorPageFaults: memory.get('total_pgmajfault') ?? 0,
    pids,
  };
}

/** The cgroup port as a table: limits as they were set, processes and statistics as the test sets them. */
import type { CgroupCounters, CgroupResources, Cgroups, CgroupStats } from '../cgroups.ts';
import type { Pressures } from '../pressure.ts';

export interface SimCgroup {
  resources: CgroupResources;
  pids: ReadonlySet<number>;
  stats: CgroupStats;
  pressures: Pressures;
  counters?: CgroupCounters;
}

/** The cgroups of a simulated host. */
export interface SimCgroups extends Cgroups {
  /** By name; always contains `/`. */
  readonly groups: ReadonlyMap<string, SimCgroup>;
}

const NO_USE: CgroupStats = {
  cpuUsageNs: 0,
  memoryUsageBytes: 0,
  memoryWorkingSetBytes: 0,
  memoryRssBytes: 0,
  pageFaults: 0,
  majorPageFaults: 0,
  pids: 0,
};

/** A cgroup per pod, nearly all of them without a process: they share an empty set. */
const NO_PIDS: ReadonlySet<number> = new Set();

/** A host with only the root cgroup. */
export function createSimCgroups(root = '/keelson'): SimCgroups {
  const groups = new Map<string, SimCgroup>();
  const make = (): SimCgroup => ({ resources: {}, pids: NO_PIDS, stats: NO_USE, pressures: {} });
  groups.set('/', make());
  const find = (name: string): SimCgroup => {
    const group = groups.get(name);
    if (group === undefined) throw Object.assign(new Error(`ENOENT: no cgroup ${name}`), { code: 'ENOENT' });
    return group;
  };
  const below = (name: string): string[] =>
    [...groups.keys()].filter((key) => key === name || key.startsWith(name === '/' ? '/' : `${name}/`));
  return {
    version: 2,
    groups,
    exists: async (name) => groups.has(name),
    async create(name, resources) {
      const parts = name.split('/').slice(1);
      for (let depth = 1; depth <= parts.length; depth++) {
        const path = `/${parts.slice(0, depth).join('/')}`;
        if (!groups.has(path)) groups.set(path, make());
      }
      const group = find(name);
      group.resources = { ...group.resources, ...resources };
    },
    async update(name, resources) {
      const group = find(name);
      group.resources = { ...group.resources, ...resources };
    },
    async destroy(name) {
      for (const path of below(name)) if (path !== '/') groups.delete(path);
    },
    async addProcess(name, pid) {
      const to = find(name);
      for (const group of groups.values())
        if (group.pids.has(pid)) group.pids = new Set([...group.pids].filter((other) => other !== pid));
      to.pids = new Set([...to.pids, pid]);
    },
    pids: async (name) => below(name).flatMap((path) => [...groups.get(path)!.pids]),
    stats: async (name) => find(name).stats,
    memoryMax: async (name) => find(name).resources.memoryMaxBytes ?? 'max',
    pressures: async (name, containerId) =>
      groups.get(containerId === undefined ? name : `${name}/${containerId}`)?.pressures ?? {},
    counters: async (name, containerId) =>
      groups.get(containerId === undefined ? name : `${name}/${containerId}`)?.counters,
    async children(name) {
      const prefix = name === '/' ? '/' : `${name}/`;
      return below(name).flatMap((path) => {
        const rest = path.slice(prefix.length);
        return path.startsWith(prefix) && rest !== '' && !rest.includes('/') ? [rest] : [];
      });
    },
    criParent: (name) => (name === '/' ? root : `${root}${name}`),
  };
}

/** The cgroup port of this machine: version 1 or 2, below the instance's root, with the names checked. */
import { existsSync } from 'node:fs';
import type { Cgroups } from '../cgroups.ts';
import type { CgroupDeps } from './cgroup-files.ts';
import { createCgroupsV1 } from './cgroups-v1.ts';
import { createCgroupsV2, type CgroupHierarchy } from './cgroups-v2.ts';

export interface CgroupOptions extends CgroupDeps {
  /** The instance's root below the mount, e.g. `/keelson-ab12cd`; `/`: the mount itself. */
  readonly root: string;
  readonly version: 1 | 2;
  /** Usually `/sys/fs/cgroup`. */
  readonly mountRoot: string;
}

/** Version 2 when the unified hierarchy is mounted at the root; a hybrid machine works with version 1. */
export function detectCgroupVersion(mountRoot = '/sys/fs/cgroup'): 1 | 2 {
  return existsSync(`${mountRoot}/cgroup.controllers`) ? 2 : 1;
}

/** Makes the cgroup port; touches nothing before its first use. */
export function createCgroups(options: CgroupOptions): Cgroups {
  const { version, mountRoot } = options;
  const root = checkName(options.root) === '/' ? '' : options.root;
  const where = { root, mountRoot };
  const hierarchy = version === 2 ? createCgroupsV2(options, where) : createCgroupsV1(options, where);
  return {
    version,
    ...withCheckedNames(hierarchy),
    criParent: (name) => (name === '/' ? root || '/' : `${root}${checkName(name)}`),
  };
}

/** Refuses names with `..`, which would reach cgroups of others. */
function checkName(name: string): string {
  if (name !== '/' && !/^(\/(?!\.{1,2}(\/|$))[^/\0]+)+$/.test(name))
    throw new Error(`not a cgroup name: ${JSON.stringify(name)}`);
  return name;
}

function withCheckedNames(hierarchy: CgroupHierarchy): CgroupHierarchy {
  return {
    exists: async (name) => hierarchy.exists(checkName(name)),
    create: async (name, resources) => hierarchy.create(checkName(name), resources),
    update: async (name, resources) => hierarchy.update(checkName(name), resources),
    destroy: async (name) => hierarchy.destroy(checkName(name)),
    addProcess: async (name, pid) => hierarchy.addProcess(checkName(name), pid),
    pids: async (name) => hierarchy.pids(checkName(name)),
    stats: async (name) => hierarchy.stats(checkName(name)),
    memoryMax: async (name) => hierarchy.memoryMax(checkName(name)),
    pressures: async (name, containerId) => hierarchy.pressures(checkName(name), containerId),
    counters: async (name, containerId) => hierarchy.counters(checkName(name), containerId),
    children: async (name) => hierarchy.children(checkName(name)),
  };
}

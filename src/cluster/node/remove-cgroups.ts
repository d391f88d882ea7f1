/** Removes an instance's cgroups and kills the processes in them. */
import { createCgroups, detectCgroupVersion } from '../../platform/node/cgroups.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Instance } from '../instance/instance.ts';

export async function removeCgroups(platform: Platform, { cgroupRoot }: Pick<Instance, 'cgroupRoot'>): Promise<void> {
  const cgroups = createCgroups({
    files: platform.files,
    clock: platform.clock,
    kill: (pid) => platform.exec.kill(pid, 'SIGKILL'),
    root: cgroupRoot,
    version: detectCgroupVersion(),
    mountRoot: '/sys/fs/cgroup',
  });
  await cgroups.destroy('/');
}

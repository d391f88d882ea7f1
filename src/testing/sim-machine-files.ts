/** Files of every machine that pods mount by host paths which must exist. */
import type { Clock } from '../platform/clock.ts';
import type { SimPlatform } from '../platform/sim/sim-platform.ts';

const DIRECTORIES = [
  '/dev',
  '/etc/cni/net.d',
  '/lib/modules',
  '/proc',
  '/run/containerd',
  '/sys/fs/cgroup',
  '/var/log',
];
const CONTAINERD_SOCKET = '/run/containerd/containerd.sock';
const MACHINE_ID = '/etc/machine-id';

/** Creates the files on the empty disk of a new machine; another call has no effect. */
export async function provideMachineFiles({ files, host }: SimPlatform<Clock>): Promise<void> {
  if (await files.exists(CONTAINERD_SOCKET)) return;
  for (const directory of DIRECTORIES) await files.makeDir(directory);
  await files.symlink('/run', '/var/run');
  await files.writeFile(MACHINE_ID, `${(await host.info()).machineId}\n`);
  files.makeSpecial(CONTAINERD_SOCKET, 'socket');
}

/** `keelson down`: stops everything of one cluster and leaves the machine as it was before `up`. */
import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import type { ClusterStatus } from '../cluster/cluster-status.ts';
import { requestControl } from '../cluster/instance/control-socket.ts';
import { controlSocketName, instanceHash } from '../cluster/instance/instance.ts';
import { dataDirOption } from './cluster-options.ts';
import { UserError } from './usage-error.ts';

/** The command. */
export function downCommand(): Command {
  return new Command('down')
    .description('stop a cluster with its pods and remove what it put on this machine')
    .addOption(dataDirOption())
    .option('--delete-data', 'delete the data directory too')
    .action(async (raw: { dataDir: string; deleteData?: boolean }) => {
      if (await stopSimulated(resolve(raw.dataDir))) {
        if (raw.deleteData === true) await rm(resolve(raw.dataDir), { recursive: true });
        return;
      }
      if (process.getuid?.() !== 0) throw new UserError('keelson down needs root, as keelson up did');
      const { takeDown } = await import('../cluster/take-down.ts');
      const { createNodePlatform } = await import('../platform/node/node-platform.ts');
      const dataDir = resolve(raw.dataDir);
      const platform = createNodePlatform({ log: { level: 'warn' } });
      try {
        const problems = await takeDown(platform, { dataDir, deleteData: raw.deleteData === true });
        if (problems.length > 0) throw new UserError(problems.join('; '));
      } finally {
        platform.close();
      }
    });
}

/** Stops a cluster of simulated nodes, which leaves nothing else to take down; false when none runs there. */
async function stopSimulated(dataDir: string): Promise<boolean> {
  const socket = controlSocketName(instanceHash(dataDir, (text) => createHash('sha256').update(text).digest('hex')));
  const status = (await requestControl(socket, 'status')) as Partial<ClusterStatus> | undefined;
  if (status?.simulated !== true) return false;
  await requestControl(socket, 'stop');
  while ((await requestControl(socket, 'pid')) !== undefined) await sleep(20);
  return true;
}

/** `keelson down`: stops everything of one cluster and leaves the machine as it was before `up`. */
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Command } from 'commander';
import type { ClusterStatus } from '../cluster/cluster-status.ts';
import { requestControl } from '../cluster/instance/control-client.ts';
import { checkOwnDataDir } from '../cluster/instance/own-data-dir.ts';
import { endInstance } from '../cluster/instance/end-instance.ts';
import { supervisorOf } from '../cluster/instance/supervisor-record.ts';
import { dataDirOption } from './cluster-options.ts';
import { UserError } from './usage-error.ts';

export function downCommand(): Command {
  return new Command('down')
    .description('stop a cluster with its pods and remove what it put on this machine')
    .addOption(dataDirOption())
    .option('--delete-data', 'delete the data directory too')
    .action(async (raw: { dataDir: string; deleteData?: boolean }) => {
      const { createNodePlatform } = await import('../platform/node/node-platform.ts');
      const dataDir = resolve(raw.dataDir);
      const deleteData = raw.deleteData === true;
      if (await isSimulated(dataDir)) {
        const platform = createNodePlatform({ startSpawner: false, log: { level: 'warn' } });
        await endInstance(platform, dataDir);
        platform.close();
        if (deleteData) await rm(dataDir, { recursive: true });
        return;
      }
      if (process.getuid?.() !== 0) throw new UserError('keelson down needs root, as keelson up did');
      checkOwnDataDir(dataDir);
      const { takeDown } = await import('../cluster/take-down.ts');
      const platform = createNodePlatform({ log: { level: 'warn' } });
      try {
        const problems = await takeDown(platform, { dataDir, deleteData });
        if (problems.length > 0) throw new UserError(problems.join('; '));
      } finally {
        platform.close();
      }
    });
}

/** Whether the cluster is simulated and leaves nothing on the machine. Users other than root can have no other. */
async function isSimulated(dataDir: string): Promise<boolean> {
  const status = (await requestControl(dataDir, 'status')) as Partial<ClusterStatus> | undefined;
  return status?.simulated === true || (process.getuid?.() !== 0 && supervisorOf(dataDir) !== undefined);
}

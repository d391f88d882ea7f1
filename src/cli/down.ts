/** `keelson down`: stops everything of one cluster and leaves the machine as it was before `up`. */
import { resolve } from 'node:path';
import { Command } from 'commander';
import { DEFAULT_DATA_DIR } from './cluster-options.ts';
import { UserError } from './usage-error.ts';

/** The command. */
export function downCommand(): Command {
  return new Command('down')
    .description('stop a cluster with its pods and remove what it put on this machine')
    .option('--data-dir <dir>', 'where the cluster keeps everything', DEFAULT_DATA_DIR)
    .option('--delete-data', 'delete the data directory too')
    .action(async (raw: { dataDir: string; deleteData?: boolean }) => {
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

/** `keelson uninstall`: takes away what `keelson install` wrote. The cluster's pods and data stay. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { dataDirOption } from './cluster-options.ts';
import { requireSystemd, SYSTEM_UNITS, uninstallServices } from './service/install-service.ts';
import { UserError } from './usage-error.ts';

export function uninstallCommand(): Command {
  return new Command('uninstall')
    .description('stop the service of a cluster and remove its unit; its pods and data stay')
    .addOption(dataDirOption())
    .option('--unit-dir <dir>', `remove the unit from this folder and leave systemd alone (default: ${SYSTEM_UNITS})`)
    .action(async (raw: { dataDir: string; unitDir?: string }) => {
      const dataDir = resolve(raw.dataDir);
      const dir = resolve(raw.unitDir ?? SYSTEM_UNITS);
      const { createNodePlatform } = await import('../platform/node/node-platform.ts');
      const platform = createNodePlatform({ log: { level: 'warn' } });
      try {
        if (raw.unitDir === undefined) {
          await requireSystemd(platform);
          if (process.getuid?.() !== 0) throw new UserError('keelson uninstall needs root');
        }
        const names = await uninstallServices(platform, { dir, dataDir, isRunning: raw.unitDir === undefined });
        for (const name of names) process.stdout.write(`${dir}/${name} was removed\n`);
        if (names.length === 0) process.stderr.write(`keelson: no service of the cluster in ${dataDir} is in ${dir}\n`);
        else if (existsSync(dataDir))
          process.stdout.write(
            `next: keelson down --data-dir ${dataDir} stops the pods; --delete-data deletes the data too\n`,
          );
      } finally {
        platform.close();
      }
    });
}

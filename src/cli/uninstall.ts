/** `keelson uninstall`: takes away what `keelson install` wrote. The cluster's pods and data stay. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { dataDirOption } from './cluster-options.ts';
import { requireSystemd, SYSTEM_UNITS, uninstallServices } from './service/install-service.ts';
import { isAgentName, unitName } from './service/unit.ts';
import { UserError } from './usage-error.ts';

interface RawUninstall {
  readonly dataDir: string;
  readonly name?: string;
  readonly unitDir?: string;
}

export function uninstallCommand(): Command {
  return new Command('uninstall')
    .description('stop the service of a cluster and remove its unit; its pods and data stay')
    .addOption(dataDirOption())
    .option('--unit-dir <dir>', `remove the unit from this folder and leave systemd alone (default: ${SYSTEM_UNITS})`)
    .action(async (raw: RawUninstall, command: Command) => {
      const dataDir = resolve(raw.dataDir);
      const dir = resolve(raw.unitDir ?? SYSTEM_UNITS);
      const { createNodePlatform } = await import('../platform/node/node-platform.ts');
      const platform = createNodePlatform({ log: { level: 'warn' } });
      try {
        if (raw.unitDir === undefined) {
          await requireSystemd(platform);
          if (process.getuid?.() !== 0) throw new UserError('keelson uninstall needs root');
        }
        const isRunning = raw.unitDir === undefined;
        const names = command.getOptionValueSource('dataDir') === 'cli' ? [] : namesOfUnits(raw.name);
        const removed = await uninstallServices(platform, { dir, dataDir, names, isRunning });
        for (const { name } of removed) process.stdout.write(`${dir}/${name} was removed\n`);
        if (removed.length === 0) throw new UserError(`no service of the cluster in ${dataDir} is in ${dir}`);
        for (const left of new Set(removed.map((service) => service.dataDir)))
          if (existsSync(left))
            process.stdout.write(
              `next: keelson down --data-dir ${left} stops the pods; --delete-data deletes the data too\n`,
            );
      } finally {
        platform.close();
      }
    });
}

/** The units of a cluster by its name: its data directory may be any. */
function namesOfUnits(cluster: string | undefined): string[] {
  if (cluster === undefined) return [];
  return [unitName('agent', cluster), ...(isAgentName(cluster) ? [] : [unitName('server', cluster)])];
}

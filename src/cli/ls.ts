/** `keelson ls`: the clusters of this machine. */
import { Command, Option } from 'commander';
import { columns } from './columns.ts';
import { listClusters } from './machine-clusters.ts';

export function lsCommand(): Command {
  return new Command('ls')
    .description('list the clusters of this machine')
    .addOption(
      new Option('-o, --output <format>', 'text, json, or names alone')
        .choices(['text', 'json', 'name'])
        .default('text'),
    )
    .action(async ({ output }: { output: string }) => {
      const clusters = await listClusters();
      if (output === 'json') process.stdout.write(`${JSON.stringify(clusters, undefined, 2)}\n`);
      else if (output === 'name') process.stdout.write(clusters.map(({ name }) => `${name}\n`).join(''));
      else if (clusters.length === 0) process.stderr.write('no clusters on this machine (keelson up starts one)\n');
      else {
        const rows = clusters.map(({ name, state, port, version, dataDir }) => [name, state, port, version, dataDir]);
        process.stdout.write(columns([['NAME', 'STATE', 'PORT', 'VERSION', 'DATA DIRECTORY'], ...rows]));
      }
    });
}

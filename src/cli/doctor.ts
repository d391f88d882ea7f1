/** `keelson doctor`: what prevents a cluster from working on this machine, and what helps. Changes nothing. */
import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { requestControl } from '../cluster/instance/control-client.ts';
import { dataDirOption } from './cluster-options.ts';

export function doctorCommand(): Command {
  return new Command('doctor')
    .description(
      'check this machine and the cluster in a data directory, which may run or not: ✓ right, ! less, ✖ wrong',
    )
    .addOption(dataDirOption())
    .addOption(new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text'))
    .action(async (raw: { dataDir: string; output: 'text' | 'json' }) => {
      const { createNodePlatform } = await import('../platform/node/node-platform.ts');
      const { readMachine } = await import('../cluster/doctor/read-machine.ts');
      const { examine, reportText } = await import('../cluster/doctor/report.ts');
      const dataDir = resolve(raw.dataDir);
      const platform = createNodePlatform({ log: { level: 'warn' } });
      try {
        const running = (await requestControl(dataDir, 'pid')) as { pid?: number } | undefined;
        const isRoot = process.getuid?.() === 0;
        const report = examine(await readMachine(platform, { dataDir, isRoot, pid: running?.pid }));
        process.stdout.write(raw.output === 'json' ? `${JSON.stringify(report, undefined, 2)}\n` : reportText(report));
        if (report.level === 'error') process.exitCode = 1;
      } finally {
        platform.close();
      }
    });
}

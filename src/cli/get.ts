/** `keelson get KIND/NAME --at MOMENT`: an object as it was. */
import { Command, Option } from 'commander';
import { type RawObjectOptions, withObjectOptions } from './history/connect.ts';

export function getCommand(): Command {
  const command = new Command('get').description('print an object as it was at a revision or a time');
  return withObjectOptions(command)
    .requiredOption('--at <moment>', 'a revision, a time such as 2026-01-31T12:00:00Z, or an age such as -10m')
    .addOption(new Option('-o, --output <format>', 'yaml or json').choices(['yaml', 'json']).default('yaml'))
    .action(async (words: string[], raw: RawObjectOptions & { readonly at: string; readonly output: string }) => {
      const { withNamedObject } = await import('./history/connect.ts');
      const { askAt } = await import('./history/ask-history.ts');
      const { stringifyYaml } = await import('../api/codec/yaml-writer.ts');
      const { object } = await withNamedObject(words, raw, (named) => askAt(named, raw.at));
      process.stdout.write(raw.output === 'json' ? `${JSON.stringify(object, undefined, 2)}\n` : stringifyYaml(object));
    });
}

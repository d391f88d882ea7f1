/** `keelson diff KIND/NAME`: two states of an object compared, with who changed which field. */
import { Command } from 'commander';
import type { Comparison } from './history/compare.ts';
import { type RawObjectOptions, withObjectOptions } from './history/connect.ts';

export function diffCommand(): Command {
  const command = new Command('diff').description('compare two states of an object, with who changed which field');
  return withObjectOptions(command)
    .option('--from <moment>', 'a revision, a time, or an age such as -10m (default: before the last change)')
    .option('--to <moment>', 'likewise (default: now)')
    .option('-a, --all', 'also the status')
    .action(async (words: string[], raw: RawObjectOptions & Comparison) => {
      const { withNamedObject } = await import('./history/connect.ts');
      const { compareText } = await import('./history/compare.ts');
      process.stdout.write(await withNamedObject(words, raw, (object) => compareText(object, raw)));
    });
}

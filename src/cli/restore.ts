/** `keelson restore KIND/NAME --to MOMENT`: one object back to an earlier state, by the caller's own rights. */
import { Command } from 'commander';
import { type RawObjectOptions, withObjectOptions } from './history/connect.ts';

export function restoreCommand(): Command {
  const command = new Command('restore').description(
    'put one object back to an earlier state, or create it again when it is gone, by your own rights',
  );
  return withObjectOptions(command)
    .requiredOption('--to <moment>', 'a revision, a time such as 2026-01-31T12:00:00Z, or an age such as -10m')
    .option('--dry-run', 'show what would change')
    .action(async (words: string[], raw: RawObjectOptions & { readonly to: string; readonly dryRun?: true }) => {
      const { withNamedObject } = await import('./history/connect.ts');
      const { restoreObject } = await import('./history/restore-object.ts');
      const choice = { to: raw.to, dryRun: raw.dryRun === true };
      process.stdout.write(await withNamedObject(words, raw, (object) => restoreObject(object, choice)));
    });
}

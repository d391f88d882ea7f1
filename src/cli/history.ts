/** `keelson history KIND/NAME`: the revisions of an object, who made them and what they changed. */
import { Command } from 'commander';
import { type RawObjectOptions, textOrJsonOption, withObjectOptions } from './history/connect.ts';
import { UserError } from './usage-error.ts';

interface RawHistoryOptions extends RawObjectOptions {
  readonly output: string;
  readonly limit: string;
  readonly all?: true;
}

export function historyCommand(): Command {
  const command = new Command('history').description(
    'tell the revisions of an object that are kept: when, by whom, and what they changed; of deleted objects too',
  );
  return withObjectOptions(command)
    .option('--limit <count>', 'how many revisions, the newest first', '50')
    .option('-a, --all', 'also those that changed nothing but the status')
    .addOption(textOrJsonOption())
    .action(async (words: string[], raw: RawHistoryOptions) => {
      const { withNamedObject } = await import('./history/connect.ts');
      const { getHistory } = await import('./history/get-history.ts');
      const { historyText, isStatusAlone } = await import('./history/history-text.ts');
      const limit = Number(raw.limit);
      if (!/^[1-9]\d{0,5}$/.test(raw.limit)) throw new UserError(`--limit: ${raw.limit} is no whole number above 0`, 2);
      const isWanted =
        raw.all === true ? () => true : (entry: Parameters<typeof isStatusAlone>[0]) => !isStatusAlone(entry);
      const text = await withNamedObject(words, raw, async (object) => {
        const { hidden, isCut, ...history } = await getHistory(object, { limit, isWanted });
        if (raw.output === 'json') return `${JSON.stringify(history, undefined, 2)}\n`;
        if (history.revisions.length === 0 && hidden === 0)
          throw new UserError(`${words.join(' ')}: no such object, and no revision of it is kept`);
        return historyText({ ...history, hidden, isCut });
      });
      process.stdout.write(text);
    });
}

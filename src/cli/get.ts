/** `keelson get KIND[/NAME] --at MOMENT`: an object or a list as it was. */
import { Command, Option } from 'commander';
import { type RawObjectOptions, targetOf, withObjectOptions } from './history/connect.ts';
import type { ListOutput } from './history/list-at.ts';
import { UserError } from './usage-error.ts';

interface RawGetOptions extends RawObjectOptions {
  readonly at: string;
  readonly output?: ListOutput;
  readonly allNamespaces?: true;
  readonly selector?: string;
  readonly fieldSelector?: string;
}

export function getCommand(): Command {
  const command = new Command('get').description(
    'print an object, or the list of a kind, as it was at a revision or a time',
  );
  return withObjectOptions(command, 'KIND, KIND/NAME, or KIND NAME')
    .requiredOption('--at <moment>', 'a revision, a time such as 2026-01-31T12:00:00Z, or an age such as -10m')
    .option('-A, --all-namespaces', 'the list over all namespaces')
    .option('-l, --selector <selector>', 'labels that objects of the list had')
    .option('--field-selector <selector>', 'fields that objects of the list had')
    .addOption(
      new Option(
        '-o, --output <format>',
        'yaml or json, of lists also table, wide or name (default: yaml; table)',
      ).choices(['yaml', 'json', 'table', 'wide', 'name']),
    )
    .action((words: string[], raw: RawGetOptions) => {
      const isKind = words.length === 1 && !words[0]!.includes('/');
      return isKind ? printList(words[0]!, raw) : printObject(words, raw);
    });
}

async function printObject(words: readonly string[], raw: RawGetOptions): Promise<void> {
  const { output = 'yaml', selector, fieldSelector, allNamespaces } = raw;
  targetOf(words);
  if (selector !== undefined || fieldSelector !== undefined || allNamespaces !== undefined)
    throw new UserError('selectors and --all-namespaces are for lists: leave out the name', 2);
  if (output !== 'yaml' && output !== 'json') throw new UserError(`-o ${output} is for lists: leave out the name`, 2);
  const { withNamedObject } = await import('./history/connect.ts');
  const { getObjectAt } = await import('./history/get-history.ts');
  const { stringifyYaml } = await import('../api/codec/yaml-writer.ts');
  const { object } = await withNamedObject(words, raw, (named) => getObjectAt(named, raw.at));
  process.stdout.write(output === 'json' ? `${JSON.stringify(object, undefined, 2)}\n` : stringifyYaml(object));
}

async function printList(word: string, raw: RawGetOptions): Promise<void> {
  const { at, output = 'table', selector: labelSelector, fieldSelector, allNamespaces: all } = raw;
  const { withNamedKind } = await import('./history/connect.ts');
  const { listTextAt } = await import('./history/list-at.ts');
  const allNamespaces = all === true;
  const { text, warnings, where } = await withNamedKind(word, raw, async (kind) => ({
    ...(await listTextAt(kind, { at, output, allNamespaces, labelSelector, fieldSelector })),
    where: kind.info.namespaced && !allNamespaces ? ` in ${kind.namespace} namespace` : '',
  }));
  for (const warning of warnings) process.stderr.write(`Warning: ${warning}\n`);
  if (text === '') process.stderr.write(`No resources found${where}.\n`);
  process.stdout.write(text);
}

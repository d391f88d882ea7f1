/**
 * Generates the pages of every command with its flags, and of the keys of `--config`, from the command line's own tables. `node
 * --conditions=keelson-source tools/command-reference.ts` writes docs/commands.md and docs/config-keys.md.
 */
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Argument, Command, Option } from 'commander';
import { OF_THE_COMMAND_LINE } from '../src/cli/arguments/config-file.ts';
import { HOLDS, REFUSED_K3S_KEYS, RENAMED } from '../src/cli/arguments/k3s-keys.ts';
import { REMEMBERED_FLAGS } from '../src/cli/arguments/settings-file.ts';
import { program } from '../src/cli/program.ts';
import { isMain, repositoryRoot } from './repository.ts';

/** The path of a page with its text. */
export interface ReferencePage {
  readonly path: string;
  readonly text: string;
}

/** Commands that support `--config`. */
const STARTING = ['up', 'server', 'agent'] as const;

/** Components with upstream's flags, which docs/component-flags.md describes. */
const COMPONENTS: ReadonlySet<string> = new Set(['apiserver', 'controller-manager', 'scheduler', 'kubelet', 'proxy']);

export async function referencePages(): Promise<readonly ReferencePage[]> {
  const root = await program([]);
  const commands = root.createHelp().visibleCommands(root);
  return [
    { path: 'docs/commands.md', text: commandsPage(commands.filter((command) => command.name() !== 'help')) },
    { path: 'docs/config-keys.md', text: configPage(commands) },
  ];
}

const COMMANDS_HEAD = `# Commands and their flags

Every command, as \`keelson COMMAND --help\` shows it. \`node --conditions=keelson-source tools/command-reference.ts\` makes this page from the
command line itself. What a cluster remembers of its flags, and \`--config\`: [clusters.md](clusters.md), [config-keys.md](config-keys.md). Flags of the components
run alone are upstream's: [component-flags.md](component-flags.md).
`;

function commandsPage(commands: readonly Command[]): string {
  const list = commands.map(
    (command) => `| [\`keelson ${command.name()}\`](#keelson-${command.name()}) | ${cell(command.description())} |`,
  );
  return [
    COMMANDS_HEAD,
    '| command | |',
    '| --- | --- |',
    ...list,
    ...commands.flatMap((command) => commandText(command, `keelson ${command.name()}`, 2)),
    '',
  ].join('\n');
}

function commandText(command: Command, name: string, level: number): string[] {
  const aliases = command.aliases().map((alias) => `\`${alias}\``);
  const help = command.createHelp();
  const options = help.visibleOptions(command).filter(({ long }) => long !== '--help');
  const isComponent = COMPONENTS.has(command.name());
  const text = [
    `\n${'#'.repeat(level)} ${name}\n`,
    `${sentence(command.description())}${aliases.length === 0 ? '' : ` Also: ${aliases.join(', ')}.`}`,
    ...argumentLines(command.registeredArguments),
  ];
  if (isComponent)
    text.push(
      `\nIts ${options.length} flags are those of upstream's component: [component-flags.md](component-flags.md).`,
    );
  else if (options.length > 0) text.push('\n| flag | default | |', '| --- | --- | --- |', ...options.map(optionRow));
  const own = help.visibleCommands(command).filter((each) => each.name() !== 'help');
  return [...text, ...own.flatMap((each) => commandText(each, `${name} ${each.name()}`, level + 1))];
}

function argumentLines(list: readonly Argument[]): string[] {
  if (list.length === 0) return [];
  return ['', ...list.map((argument) => `- \`${shown(argument)}\`: ${cell(argument.description || 'see above')}`)];
}

function shown(argument: Argument): string {
  const name = argument.name() + (argument.variadic ? '...' : '');
  return argument.required ? `<${name}>` : `[${name}]`;
}

function optionRow(option: Option): string {
  const { flags, description, defaultValue, defaultValueDescription, argChoices, envVar } = option;
  const choices = argChoices === undefined ? '' : ` (${argChoices.join(', ')})`;
  const variable = envVar === undefined ? '' : `; or the variable \`${envVar}\``;
  const value =
    defaultValueDescription ?? (defaultValue === undefined || defaultValue === false ? '' : String(defaultValue));
  return `| \`${flags.replaceAll('|', '\\|')}\` | ${value === '' ? '' : `\`${portable(value)}\``} | ${cell(description)}${choices}${variable} |`;
}

/** Replaces values of this machine, so that a page is the same wherever it is generated. */
function portable(value: string): string {
  return value === hostname() || value === hostname().toLowerCase()
    ? "this machine's name"
    : value.replaceAll('|', '\\|');
}

function cell(text: string): string {
  return text
    .replaceAll('|', '\\|')
    .replaceAll(/\s*\n\s*/g, ' ')
    .replaceAll('<', '&lt;');
}

function sentence(text: string): string {
  const [first = '', ...rest] = cell(text);
  return first === '' ? '' : `${first.toUpperCase()}${rest.join('')}.`;
}

const CONFIG_HEAD = `# Keys of --config

\`keelson up\`, \`server\` and \`agent\` read a YAML file by \`--config\`: each key is a flag without its dashes, a list gives a flag several times, and the command
line wins over the file. \`node --conditions=keelson-source tools/command-reference.ts\` makes this page from the code that reads it. What the flags mean:
[commands.md](commands.md).

| key | of | remembered by the data directory |
| --- | --- | --- |
`;

function configPage(commands: readonly Command[]): string {
  const owners = new Map<string, string[]>();
  for (const name of STARTING) {
    const command = commands.find((each) => each.name() === name)!;
    for (const { long, hidden } of command.options) {
      const key = long?.slice(2);
      if (key === undefined || hidden || key === 'version' || OF_THE_COMMAND_LINE.includes(key)) continue;
      owners.set(key, [...(owners.get(key) ?? []), name]);
    }
  }
  const remembered: readonly string[] = REMEMBERED_FLAGS;
  const rows = [...owners].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const pairs = (entries: readonly (readonly [string, string])[]): string[] =>
    entries.map(([key, text]) => `| \`${key}\` | ${cell(text)} |`);
  return [
    CONFIG_HEAD +
      rows
        .map(([key, of]) => `| \`${key}\` | ${of.join(', ')} | ${remembered.includes(key) ? 'yes' : ''} |`)
        .join('\n'),
    '\n## Keys of k3s that have another name here\n',
    '| k3s | Keelson |',
    '| --- | --- |',
    ...pairs(Object.entries(RENAMED).map(([key, flag]) => [key, `\`${flag}\``] as const)),
    '\n## Keys of k3s that say what holds here anyway\n',
    '| k3s | with the value |',
    '| --- | --- |',
    ...pairs(
      Object.entries(HOLDS).map(([key, values]) => [key, values.map((value) => `\`${value}\``).join(', ')] as const),
    ),
    '\n## Keys of k3s that are refused\n',
    '| k3s | instead |',
    '| --- | --- |',
    ...pairs(Object.entries(REFUSED_K3S_KEYS)),
    '',
  ].join('\n');
}

if (isMain(import.meta.url))
  for (const { path, text } of await referencePages()) writeFileSync(join(repositoryRoot, path), text);

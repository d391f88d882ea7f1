/** What can be completed: each command's path with its commands and options. Pure. */
import type { Command, Option } from 'commander';

export interface CompletedOption {
  /** `--data-dir`, and `-f` where there is one. */
  readonly names: readonly string[];
  readonly description: string;
  /** Absent for options without a value; `files`, `clusters` and `nodes` are looked up. */
  readonly values?: readonly string[] | 'files' | 'clusters' | 'nodes' | 'none';
}

export interface CompletedCommand {
  /** Words after `keelson`; none for the program itself. */
  readonly path: readonly string[];
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly CompletedOption[];
  /** Values of its first argument; `nodes` are looked up. */
  readonly words: readonly string[] | 'nodes';
}

/** Every command, the program first. */
export function completionTable(root: Command): readonly CompletedCommand[] {
  const walk = (command: Command, path: readonly string[]): CompletedCommand[] => {
    const visible = command
      .createHelp()
      .visibleCommands(command)
      .filter((each) => each.name() !== 'help');
    return [
      {
        path,
        commands: visible.map((each) => ({ name: each.name(), description: each.description() })),
        options: command.createHelp().visibleOptions(command).map(completedOption),
        words: wordsOf(command),
      },
      ...visible.flatMap((each) => walk(each, [...path, each.name()])),
    ];
  };
  return walk(root, []);
}

function wordsOf({ registeredArguments: [first] }: Command): CompletedCommand['words'] {
  return first?.name() === 'node' ? 'nodes' : (first?.argChoices ?? []);
}

function completedOption(option: Option): CompletedOption {
  const { long, short, description } = option;
  const names = [long, short].filter((name) => name !== undefined);
  return option.required || option.optional ? { names, description, values: valuesOf(option) } : { names, description };
}

function valuesOf({ argChoices, long, flags }: Option): CompletedOption['values'] {
  if (argChoices !== undefined) return argChoices;
  if (long === '--name') return 'clusters';
  if (long === '--node') return 'nodes';
  return /<(file|dir|folder)|\[file\]/.test(flags) ? 'files' : 'none';
}

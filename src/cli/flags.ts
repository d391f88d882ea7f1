/** Adds flag tables of components to commander as options and reads their values. */
import { Option, type Command } from 'commander';
import type { Flag, FlagValues } from '../apiserver/options/flags.ts';

/** Adds the flags. Deprecated ones are hidden from the help and print a note when used. */
export function withFlags(command: Command, flags: readonly Flag[]): Command {
  for (const { name, value, description, list, deprecated } of flags) {
    const option = new Option(`--${name} ${value}`, description);
    if (list === true)
      option.argParser<string[]>((text, before = []) => {
        if (deprecated !== undefined && before.length === 0)
          process.stderr.write(`Flag --${name} has been deprecated, ${deprecated}\n`);
        return [...before, text];
      });
    command.addOption(deprecated === undefined ? option : option.hideHelp());
  }
  return command;
}

/** Values of the given flags by flag name. */
export function flagValues(flags: readonly Flag[], raw: object): FlagValues {
  const texts = raw as Readonly<Record<string, string | readonly string[] | undefined>>;
  const values = flags.map(({ name }) => [
    name,
    texts[name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())],
  ]);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as FlagValues;
}

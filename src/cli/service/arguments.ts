/** The command line of a service: the flags that were given, with absolute paths, and the token in a file. */
import { resolve } from 'node:path';
import type { Command, Option } from 'commander';
import { UserError } from '../usage-error.ts';

/** Flags of the command line that the service gets, without `own`. Throws `UserError` with exit code 2. */
export function serviceFlags(command: Command, own: readonly string[]): string[] {
  return command.options.flatMap((option) => {
    const name = option.long ?? '';
    const source = command.getOptionValueSource(option.attributeName());
    const value: unknown = command.getOptionValue(option.attributeName());
    const texts = Array.isArray(value) ? (value as string[]) : [value as string | boolean];
    if (source === 'config') refuseRelative(option, texts);
    if (source !== 'cli' || own.includes(name)) return [];
    return texts.map((text) => (typeof text === 'boolean' ? name : `${name}=${pathOf(option, text)}`));
  });
}

/** Values that are no paths, of flags whose values are. */
const NO_PATHS: readonly unknown[] = ['-', 'default', 'none', ''];

function isPath({ flags }: Option, text: unknown): text is string {
  return /<(file|dir|folder)>/.test(flags) && !NO_PATHS.includes(text);
}

/** Absolute: a service does not begin where the user stood. */
function pathOf(option: Option, text: string): string {
  return isPath(option, text) ? resolve(text) : text;
}

/** The file of `--config` is read again by the service, which begins in `/`. */
function refuseRelative(option: Option, texts: readonly unknown[]): void {
  const relative = texts.find((text) => isPath(option, text) && !text.startsWith('/'));
  if (relative !== undefined)
    throw new UserError(
      `--config: ${option.long?.slice(2)}: ${String(relative)} must be an absolute path in a service`,
      2,
    );
}

/** Reads the flags of configuration fields as they stand on the command line: `--flag=value`, `--flag value`, `--flag`. */
import { CONFIGURATION_FLAGS, REPLACED_FLAGS } from '../kubelet/configuration/flags.ts';
import { UserError } from './usage-error.ts';

/** Texts by flag, in the order given. Throws `UserError` for a flag that does not exist, with its successor if it had one. */
export function collectFlags(args: readonly string[]): Record<string, string[]> {
  const flags: Record<string, string[]> = {};
  const rest = [...args];
  while (rest.length > 0) {
    const arg = rest.shift() as string;
    const match = /^--?([A-Za-z][\w-]*)(?:=([^]*))?$/.exec(arg);
    if (match === null) throw new UserError(`unknown command ${JSON.stringify(arg)}`, 2);
    const name = (match[1] as string).replaceAll('_', '-');
    const known = CONFIGURATION_FLAGS.find(({ flag }) => flag === name);
    if (known === undefined) throw unknown(name);
    // As upstream's parser: a flag of truth takes no separate word.
    const value = match[2] ?? (known.row.type === 'bool' ? 'true' : rest.shift());
    if (value === undefined) throw new UserError(`flag needs an argument: --${name}`, 2);
    (flags[name] ??= []).push(value);
  }
  return flags;
}

function unknown(name: string): UserError {
  const successor = REPLACED_FLAGS[name];
  if (successor === undefined) return new UserError(`unknown flag: --${name}`, 2);
  return new UserError(`--${name} is gone: ${successor}`, 2);
}

/**
 * `--config FILE`: the flags of `up`, `server` and `agent` as YAML, by name. Equivalent keys of k3s's config.yaml are
 * accepted too; its other keys are refused with the alternative.
 */
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { parseDocument } from 'yaml';
import { errorMessage } from '../../base/errors.ts';
import { UserError } from '../usage-error.ts';
import { REFUSED_K3S_KEYS, translateK3sKey } from './k3s-keys.ts';

/** One value of a flag; a list gives one per item. */
export interface ConfigValue {
  readonly key: string;
  readonly flag: string;
  readonly text: string | boolean;
}

/** Flags that are read before any file. */
export const OF_THE_COMMAND_LINE: readonly string[] = ['config', 'detach', 'restart'];

/** Whether keys of flags that the command lacks are skipped, as other commands do with a server's. */
interface Leniency {
  readonly onlyOwn: boolean;
}

/** Reads the file. Rejects with `UserError` that names the file and the key. */
export async function readConfigFile(
  path: string,
  command: Command,
  leniency: Leniency,
): Promise<readonly ConfigValue[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new UserError(`--config: ${errorMessage(error)}`, 2);
  });
  return parseConfig(text, path, command, leniency);
}

/** Parses the text. Throws `UserError`. */
export function parseConfig(
  text: string,
  path: string,
  command: Command,
  { onlyOwn }: Leniency = { onlyOwn: false },
): readonly ConfigValue[] {
  const fail = (what: string): never => {
    throw new UserError(`${path}: ${what}`, 2);
  };
  const document = parseDocument(text);
  const [problem] = document.errors;
  if (problem !== undefined) fail(problem.message.split('\n')[0] ?? 'it is no YAML');
  const root: unknown = document.toJS();
  if (root === null || root === undefined) return [];
  if (typeof root !== 'object' || Array.isArray(root)) return fail('it must be keys with values: flags without dashes');
  return Object.entries(root).flatMap(([key, value]) => valuesOf(key, value, { command, fail, onlyOwn }));
}

interface ReadContext extends Leniency {
  readonly command: Command;
  readonly fail: (what: string) => never;
}

function valuesOf(key: string, value: unknown, { command, fail, onlyOwn }: ReadContext): ConfigValue[] {
  // In k3s's files a plus appends to the value of other files.
  const name = key.replace(/\+$/, '').replaceAll('_', '-');
  if (value === null || value === undefined) return [];
  const values = Array.isArray(value) ? (value as unknown[]) : [value];
  return values.flatMap((each): ConfigValue[] => {
    if (typeof each === 'object') return fail(`${key}: it must be a text, number, boolean, or a list of them`);
    // k3s has values for some of these flags that are another flag here.
    const own = command.options.some(
      ({ long, argChoices: choices }) => long === `--${name}` && choices?.includes(String(each)) !== false,
    );
    const translated = own ? undefined : translateK3sKey(name, String(each), command.name());
    if (translated === 'ignore') return [];
    const { flag, text } = translated ?? { flag: name, text: String(each) };
    const option = command.options.find(({ long }) => long === `--${flag}`);
    if (option === undefined && onlyOwn) return [];
    if (OF_THE_COMMAND_LINE.includes(flag)) return fail(`${key}: give --${flag} on the command line`);
    if (option === undefined) return fail(`${key}: ${reasonOf(name, command)}`);
    if (!option.isBoolean()) return [{ key, flag, text }];
    if (text !== 'true' && text !== 'false') return fail(`${key}: ${text} is neither true nor false`);
    return text === 'true' ? [{ key, flag, text: true }] : [];
  });
}

function reasonOf(name: string, command: Command): string {
  const reason = REFUSED_K3S_KEYS[name];
  if (reason !== undefined) return `not as in k3s: ${reason}`;
  return `keelson ${command.name()} has no flag --${name} (keelson ${command.name()} --help lists them)`;
}

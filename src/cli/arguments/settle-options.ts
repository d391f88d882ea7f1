/**
 * Settles the options that a command line leaves open: `--config`, then the data directory of `--name`, then the
 * settings in it. The command line takes precedence over the file, the file over remembered settings, these over
 * defaults. All values pass the same checks.
 */
import { resolve } from 'node:path';
import { InvalidArgumentError, type Command, type Option } from 'commander';
import { nameOption } from '../cluster-options.ts';
import { UserError } from '../usage-error.ts';
import { defaultDataDir } from './cluster-name.ts';
import { CHANGEABLE_FLAGS, readSettings, REMEMBERED_FLAGS, type Settings } from './settings-file.ts';

/**
 * Commands that start something: only they remember settings. Others read from `--config` the options that they have.
 */
const STARTING: readonly string[] = ['up', 'server', 'agent'];

const GATEWAY_PORTS = ['gateway-http-port', 'gateway-https-port'];

/** Gives every command with `--data-dir` its `--name`. */
export function addNames(commands: readonly Command[]): void {
  for (const command of commands)
    if (optionOf(command, 'data-dir') !== undefined && optionOf(command, 'name') === undefined)
      command.addOption(nameOption());
}

/** Settles the options of the command that is about to run. Throws `UserError`. */
export async function settleOptions(command: Command): Promise<void> {
  if (optionOf(command, 'data-dir') === undefined) return;
  const starts = STARTING.includes(command.name());
  const { config } = command.opts<{ config?: string }>();
  if (config !== undefined) {
    const { readConfigFile } = await import('./config-file.ts');
    for (const { key, flag, text } of await readConfigFile(resolve(config), command, { onlyOwn: !starts }))
      if (!isFromCommandLine(command, flag) || sourceOf(command, flag) === 'config')
        setOption(command, { flag, text, source: 'config', from: `${config}: ${key}` });
  }
  await settleDataDir(command, starts);
  if (!starts) return;
  const { dataDir, simulate } = command.opts<{ dataDir: string; simulate?: boolean }>();
  const { checkKind } = await import('./named-data-dir.ts');
  checkKind(dataDir, { simulate: simulate === true });
  takeUpSettings(command);
}

/** The settings that a later start takes up: those of this start and of earlier ones. */
export function settingsOf(command: Command): Settings {
  const remembered = REMEMBERED_FLAGS.flatMap((flag) => {
    const option = optionOf(command, flag);
    const source = sourceOf(command, flag);
    if (option === undefined || source === undefined || source === 'default' || source === 'env') return [];
    const value: unknown = command.getOptionValue(option.attributeName());
    return typeof value === 'string' ? [[flag, value] as const] : [];
  });
  return Object.fromEntries(remembered);
}

/** Whether the user gave the flag, in whatever way. */
export function isFromCommandLine(command: Command, flag: string): boolean {
  const source = sourceOf(command, flag);
  return source === 'cli' || source === 'config';
}

async function settleDataDir(command: Command, starts: boolean): Promise<void> {
  const {
    name,
    simulate,
    dataDir: remembered,
  } = command.opts<{ name?: string; simulate?: boolean; dataDir: string }>();
  if (isFromCommandLine(command, 'data-dir')) {
    if (!starts || name === undefined) return;
    const { checkNameIsFree } = await import('./named-data-dir.ts');
    return checkNameIsFree(name, remembered);
  }
  if (name === undefined) {
    if (simulate === true) command.setOptionValueWithSource('dataDir', defaultDataDir(undefined, true), 'name');
    return;
  }
  const { namedDataDir } = await import('./named-data-dir.ts');
  const dataDir = await namedDataDir(name, starts ? { simulate: simulate === true } : undefined);
  command.setOptionValueWithSource('dataDir', dataDir, 'name');
  // A named cluster takes precedence over KUBECONFIG.
  if (optionOf(command, 'kubeconfig') !== undefined && !isFromCommandLine(command, 'kubeconfig'))
    command.setOptionValueWithSource('kubeconfig', `${dataDir}/admin.kubeconfig`, 'name');
}

function takeUpSettings(command: Command): void {
  const { dataDir } = command.opts<{ dataDir: string }>();
  const settings = readSettings(resolve(dataDir));
  for (const flag of REMEMBERED_FLAGS) {
    const [option, text] = [optionOf(command, flag), settings[flag]];
    if (option === undefined || text === undefined) continue;
    // A port of routes on the command line enables the gateway, as at a first start.
    if (flag === 'gateway' && GATEWAY_PORTS.some((port) => isFromCommandLine(command, port))) continue;
    const now: unknown = command.getOptionValue(option.attributeName());
    const source = sourceOf(command, flag);
    if (source === undefined || source === 'default')
      setOption(command, { flag, text, source: 'remembered', from: `${dataDir}/settings.json: ${flag}` });
    else if (now !== text && source !== 'env' && (CHANGEABLE_FLAGS as readonly string[]).includes(flag))
      process.stderr.write(`keelson: --${flag} is ${String(now)}; it was ${text} when this cluster last started\n`);
  }
}

interface OptionText {
  readonly flag: string;
  readonly text: string | boolean;
  readonly source: string;
  /** The source of the value, for errors. */
  readonly from: string;
}

function setOption(command: Command, { flag, text, source, from }: OptionText): void {
  const option = optionOf(command, flag)!;
  const attribute = option.attributeName();
  const before: unknown = sourceOf(command, flag) === source ? command.getOptionValue(attribute) : undefined;
  try {
    const value: unknown =
      option.parseArg === undefined || typeof text === 'boolean'
        ? listed(option, text, before)
        : option.parseArg(text, before);
    command.setOptionValueWithSource(attribute, value, source);
  } catch (error) {
    if (error instanceof InvalidArgumentError || error instanceof UserError)
      throw new UserError(`${from}: ${error.message}`, 2);
    throw error;
  }
}

/** Options with several values and no parser collect them in a list. */
function listed(option: Option, text: string | boolean, before: unknown): unknown {
  return option.variadic ? [...((before as string[] | undefined) ?? []), text] : text;
}

function optionOf(command: Command, flag: string): Option | undefined {
  return command.options.find(({ long }) => long === `--${flag}`);
}

function sourceOf(command: Command, flag: string): string | undefined {
  const option = optionOf(command, flag);
  return option && command.getOptionValueSource(option.attributeName());
}

/** Commands that take the command lines of upstream's components as they are: their flags, in Go's grammar. */
import { Command } from 'commander';
import { type Flag, FlagError, type FlagValues, parseFlags } from '../component-helpers/command-line/flags.ts';
import { fixedOptions, type FixedFlags } from '../component-helpers/command-line/fixed-flags.ts';
import { logOptions } from '../component-helpers/command-line/log-options.ts';
import { KUBERNETES_VERSION } from '../base/version.ts';
import type { NodePlatform } from '../platform/node/node-platform.ts';
import { endLater } from './end-later.ts';
import { logContained } from './last-net.ts';
import { UserError } from './usage-error.ts';

export interface ComponentCommand {
  readonly name: string;
  readonly description: string;
  /** Required flags as the help shows them: `--kubeconfig=FILE`. */
  readonly needs: string;
  readonly flags: readonly Flag[];
  /** Resolves to the exit code. */
  run(args: readonly string[]): Promise<number>;
}

export function componentCommand(command: ComponentCommand): Command {
  return new Command(command.name)
    .description(command.description)
    .version(`Kubernetes ${KUBERNETES_VERSION}`, '--version')
    .argument('[flags...]')
    .allowUnknownOption()
    .helpOption(false)
    .action(async (args: string[]) => {
      if (args.includes('--help') || args.includes('-h')) {
        process.stdout.write(help(command));
        return;
      }
      process.exitCode = await asUsage(() => command.run(args));
    });
}

/** Parses the flags of a component and writes warnings to stderr. Throws `FlagError`. */
export function readComponentFlags(args: readonly string[], flags: readonly Flag[], fixed: FixedFlags): FlagValues {
  const { values, warnings } = parseFlags(args, flags, {});
  for (const text of [...warnings, ...fixedOptions(fixed).read(values)]) process.stderr.write(`keelson: ${text}\n`);
  return values;
}

/** Values by option name (`leaderElect`): the given flags over the defaults. */
export function rawOptions<T extends object>(values: FlagValues, flags: readonly Flag[], usual: T): T {
  const entries = flags.map(({ name, type }) => {
    const value = type === 'bool' ? values.bool(name) : type === 'list' ? values.list(name) : values.text(name);
    return [name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase()), value];
  });
  return { ...usual, ...Object.fromEntries(entries.filter(([, value]) => value !== undefined)) } as T;
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** Level and format of the log. `--log-level` wins over `--v`. Throws `FlagError`. */
export function componentLog(values: FlagValues): {
  readonly level: (typeof LEVELS)[number];
  readonly format?: 'json' | 'text';
} {
  const text = values.text('log-level');
  const level = LEVELS.find((one) => one === text);
  if (text !== undefined && level === undefined)
    throw new FlagError(`--log-level: ${text} is none of ${LEVELS.join(', ')}`);
  const log = logOptions.read(values);
  return { ...log, ...(level !== undefined && { level }) };
}

/** Runs a component on this machine's platform, without the spawner. The platform is closed at the component's end. */
export async function onNodePlatform<T>(values: FlagValues, run: (platform: NodePlatform) => Promise<T>): Promise<T> {
  const { createNodePlatform } = await import('../platform/node/node-platform.ts');
  const platform = createNodePlatform({ startSpawner: false, log: componentLog(values) });
  logContained(platform.log);
  try {
    return await run(platform);
  } finally {
    platform.close();
    endLater(platform.log);
  }
}

/** Turns a `FlagError` into a usage error with exit code 2. */
async function asUsage<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw error instanceof FlagError ? new UserError(error.message, 2) : error;
  }
}

function help({ name, needs, flags }: ComponentCommand): string {
  const lines = flags.map(({ name: flag, type, description, deprecated }) => {
    const shown = `--${flag}${type === 'bool' ? '' : type === 'list' ? ' strings' : ' string'}`;
    return `  ${shown.padEnd(56)} ${description}${deprecated === undefined ? '' : ` (deprecated: ${deprecated})`}`;
  });
  return `Usage: keelson ${name} ${needs} [flags]\n\n${lines.toSorted().join('\n')}\n`;
}

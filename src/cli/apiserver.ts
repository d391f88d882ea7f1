/** `keelson apiserver`: the API server alone, with upstream's flags. */
import { Command } from 'commander';
import { FlagError } from '../apiserver/command-line/flags.ts';
import { apiServerFlags, parseApiServerOptions, type ApiServerOptions } from '../apiserver/command-line/list.ts';
import { UserError } from './usage-error.ts';

/** The command. Its flags are read by their own rules, which are Go's. */
export function apiServerCommand(): Command {
  return new Command('apiserver')
    .description("the API server alone, over etcd, with upstream's flags")
    .argument('[flags...]')
    .allowUnknownOption()
    .helpOption(false)
    .action(async (args: string[]) => {
      if (args.includes('--help') || args.includes('-h')) return void process.stdout.write(help());
      process.exitCode = await run(optionsOf(args));
    });
}

function optionsOf(args: readonly string[]): ApiServerOptions {
  try {
    return parseApiServerOptions(args);
  } catch (error) {
    throw error instanceof FlagError ? new UserError(error.message, 2) : error;
  }
}

function help(): string {
  const lines = apiServerFlags.map(({ name, type, description, deprecated }) => {
    const flag = `--${name}${type === 'bool' ? '' : type === 'list' ? ' strings' : ' string'}`;
    return `  ${flag.padEnd(56)} ${description}${deprecated === undefined ? '' : ` (deprecated: ${deprecated})`}`;
  });
  return `Usage: keelson apiserver --etcd-servers=URL,... [flags]\n\n${lines.toSorted().join('\n')}\n`;
}

/** Runs until a signal; resolves to the exit code. */
async function run(options: ApiServerOptions): Promise<number> {
  for (const warning of options.warnings) process.stderr.write(`keelson: ${warning}\n`);
  const { createNodePlatform } = await import('../platform/node/node-platform.ts');
  const { createApiServerProcess } = await import('../cluster/api-server-process.ts');
  const { PreflightError } = await import('../cluster/preflight.ts');
  const platform = createNodePlatform({ log: { level: options.logLevel } });
  const server = createApiServerProcess(platform, options);
  const stopped = Promise.withResolvers<void>();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopped.resolve());
  try {
    const started = server.start();
    const port = await Promise.race([started, stopped.promise]);
    if (port !== undefined) platform.log.info('Serving securely', { address: options.serving.bindAddress, port });
    await stopped.promise;
    await started.catch(() => undefined); // Cut short by the signal.
    return 0;
  } catch (error) {
    if (error instanceof FlagError) throw new UserError(error.message, 2);
    throw error instanceof PreflightError ? new UserError(error.message) : error;
  } finally {
    await server.stop();
    platform.close();
  }
}

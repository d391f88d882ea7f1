/** `keelson apiserver`: the API server alone, with upstream's flags. */
import type { Command } from 'commander';
import { apiServerFlags, parseApiServerOptions, type ApiServerOptions } from '../apiserver/command-line/list.ts';
import { componentCommand } from './component-command.ts';
import { endLater } from './end-later.ts';
import { logContained } from './last-net.ts';

export function apiServerCommand(): Command {
  return componentCommand({
    name: 'apiserver',
    description: "the API server alone, over etcd, with upstream's flags",
    needs: '--etcd-servers=URL,...',
    flags: apiServerFlags,
    run: (args) => run(parseApiServerOptions(args)),
  });
}

/** Runs until a signal; resolves to the exit code. */
async function run(options: ApiServerOptions): Promise<number> {
  for (const warning of options.warnings) process.stderr.write(`keelson: ${warning}\n`);
  const { createNodePlatform } = await import('../platform/node/node-platform.ts');
  const { createApiServerProcess } = await import('../cluster/alone/api-server-process.ts');
  const platform = createNodePlatform({ log: options.log });
  logContained(platform.log);
  const server = createApiServerProcess(platform, options);
  const stopped = Promise.withResolvers<void>();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopped.resolve());
  try {
    const started = server.start();
    const port = await Promise.race([started, stopped.promise]);
    if (port !== undefined) platform.log.info('Serving securely', { address: options.serving.bindAddress, port });
    await stopped.promise;
    await started.catch(() => undefined); // interrupted by the signal
    return 0;
  } finally {
    await server.stop();
    platform.close();
    endLater(platform.log);
  }
}

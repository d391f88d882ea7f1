/** `keelson scheduler`: the scheduler alone, against any API server. Exit code 1 when leadership is lost, as upstream's. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Command, Option } from 'commander';
import type { NodePlatform } from '../platform/node/node-platform.ts';
import { parseSchedulerOptions, type RawSchedulerOptions } from './scheduler-options.ts';
import { UserError } from './usage-error.ts';

/** The command. */
export function schedulerCommand(): Command {
  return new Command('scheduler')
    .description('run the scheduler alone, against any API server')
    .option('--config <file>', 'a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)')
    .option('--kubeconfig <file>', 'how to reach the API server')
    .option('--master <url>', 'address of the API server (overrides the kubeconfig)')
    .option('--scheduler-name <name>', 'the pods to take, without --config', 'default-scheduler')
    .option('--algorithm-provider <name>', 'the predicates and priorities of the early releases (DefaultProvider)')
    .option('--policy-config-file <file>', 'a scheduler policy of the early releases (kind Policy)')
    .option('--leader-elect [bool]', 'agree with other instances on who schedules (default: true)')
    .option('--leader-elect-lease-duration <duration>', 'how long others wait for a silent leader (default: 15s)')
    .option(
      '--leader-elect-renew-deadline <duration>',
      'how long a leader tries to renew before it gives up (default: 10s)',
    )
    .option('--leader-elect-retry-period <duration>', 'between tries (default: 2s)')
    .option('--leader-elect-resource-name <name>', 'name of the Lease (default: kube-scheduler)')
    .option('--leader-elect-resource-namespace <namespace>', 'its namespace (default: kube-system)')
    .option('--address <address>', 'where to serve health, metrics and explanations, without TLS', '127.0.0.1')
    .option('--port <port>', 'port of these; 0 serves nothing', '10251')
    .addOption(
      new Option('--log-level <level>', 'debug, info, warn or error')
        .choices(['debug', 'info', 'warn', 'error'])
        .default('info'),
    )
    .action(async (raw: RawSchedulerOptions & { leaderElect?: string | true }) => {
      process.exitCode = await run({
        ...raw,
        ...(raw.leaderElect === undefined ? {} : { leaderElect: String(raw.leaderElect) }),
      });
    });
}

async function run(raw: RawSchedulerOptions): Promise<number> {
  const port = Number(raw.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new UserError(`--port: ${raw.port} is not a port`, 2);
  const { createNodePlatform } = await import('../platform/node/node-platform.ts');
  const platform = createNodePlatform({ startSpawner: false, log: { level: raw.logLevel } });
  try {
    return await runOn(platform, raw, port);
  } finally {
    platform.close();
  }
}

async function runOn(platform: NodePlatform, raw: RawSchedulerOptions, port: number): Promise<number> {
  const read = async (flag: string, path: string): Promise<string> =>
    platform.files.readText(path).catch((error: unknown) => {
      throw new UserError(`${flag}: ${(error as Error).message}`, 2, { cause: error });
    });
  const options = parseSchedulerOptions(raw, {
    ...(raw.config === undefined ? {} : { config: await read('--config', raw.config) }),
    ...(raw.policyConfigFile === undefined ? {} : { policy: await read('--policy-config-file', raw.policyConfigFile) }),
  });
  const { loadKubeconfig } = await import('../client/kubeconfig.ts');
  const { createRestClient } = await import('../client/rest-client.ts');
  const { makeExtenders } = await import('../cluster/scheduler-setup.ts');
  const { createStandaloneScheduler } = await import('../cluster/standalone-scheduler.ts');
  const { measuredNet } = await import('../client/measured-net.ts');
  const net = measuredNet(platform.net, platform);
  const found = await loadKubeconfig({ ...platform, net, userAgent: 'kube-scheduler' }, options.kubeconfig);
  const client = createRestClient(raw.master === undefined ? found : { ...found, server: raw.master });
  const standalone = createStandaloneScheduler(
    { platform, client, extenders: await makeExtenders(platform, options.scheduler.extenders) },
    { ...options, identity: `${hostname()}_${randomUUID()}` },
  );
  const server = port === 0 ? undefined : await platform.listenHttp({ host: raw.address, port }, standalone.http);
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const)
    process.once(name, () => stop.abort(new Error(`stopped by ${name}`)));
  const ended = await standalone.run(stop.signal);
  await server?.close(500);
  if (ended === 'stopped') return 0;
  throw new UserError('leaderelection lost');
}

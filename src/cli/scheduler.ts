/** `keelson scheduler`: the scheduler alone, against any API server. Exit code 1 when leadership is lost, as upstream's. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Command } from 'commander';
import type { NodePlatform } from '../platform/node/node-platform.ts';
import { componentCommand, onNodePlatform, rawOptions, readComponentFlags } from './component-command.ts';
import { schedulerFixedFlags, schedulerFlags, schedulerServing, schedulingFlags } from './scheduler-flags.ts';
import type { ComponentServes } from './serve-component.ts';
import { parseSchedulerOptions, type RawSchedulerOptions } from './scheduler-options.ts';
import { runUntilStopped } from './run-until-stopped.ts';
import { readFlagFile } from './flag-file.ts';
import { UserError } from './usage-error.ts';

export function schedulerCommand(): Command {
  return componentCommand({
    name: 'scheduler',
    description: 'run the scheduler alone, against any API server',
    needs: '--kubeconfig=FILE',
    flags: schedulerFlags,
    run,
  });
}

async function run(args: readonly string[]): Promise<number> {
  const values = readComponentFlags(args, schedulerFlags, schedulerFixedFlags);
  const { leaderElect, ...rest } = rawOptions(values, schedulingFlags, {
    schedulerName: 'default-scheduler',
    address: '127.0.0.1',
    port: '0',
  } as Omit<RawSchedulerOptions, 'leaderElect'> & { readonly leaderElect?: boolean });
  const raw = { ...rest, leaderElect: leaderElect === undefined ? undefined : String(leaderElect) };
  const port = Number(raw.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new UserError(`--port: ${raw.port} is not a port`, 2);
  const serving = schedulerServing.read(values);
  return onNodePlatform(values, (platform) => runOn(platform, raw, { serving, insecure: { host: raw.address, port } }));
}

async function runOn(platform: NodePlatform, raw: RawSchedulerOptions, serves: ComponentServes): Promise<number> {
  const read = async (flag: string, path: string | undefined): Promise<string | undefined> =>
    path === undefined ? undefined : await readFlagFile(platform.files, flag, path);
  const options = parseSchedulerOptions(raw, {
    config: await read('--config', raw.config),
    policy: await read('--policy-config-file', raw.policyConfigFile),
  });
  const { loadKubeconfig } = await import('../client/kubeconfig.ts');
  const { createRestClient } = await import('../client/rest-client.ts');
  const { makeExtenders } = await import('../cluster/control-plane/scheduler-setup.ts');
  const { createStandaloneScheduler } = await import('../cluster/alone/standalone-scheduler.ts');
  const { measuredNet } = await import('../client/measured-net.ts');
  const net = measuredNet(platform.net, platform);
  const config = await loadKubeconfig({ ...platform, net, userAgent: 'kube-scheduler' }, options.kubeconfig);
  const client = createRestClient(raw.master === undefined ? config : { ...config, server: raw.master });
  const standalone = createStandaloneScheduler(
    { platform, client, extenders: await makeExtenders(platform, options.scheduler.extenders) },
    { ...options, hostName: hostname(), identity: `${hostname()}_${randomUUID()}` },
  );
  const { serveComponent } = await import('./serve-component.ts');
  const served = await serveComponent({ platform, name: 'kube-scheduler', handler: standalone.http }, serves);
  return await runUntilStopped(standalone, served);
}

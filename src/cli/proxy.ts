/** `keelson proxy`: the service proxy alone, for any cluster a kubeconfig reaches. */
import { hostname } from 'node:os';
import { Command } from 'commander';
import { parseCidr } from '../base/cidr.ts';
import type { KubeProxyConfiguration } from '../proxy/kube-proxy-configuration.ts';
import type { ProxyMode } from '../proxy/service-proxy.ts';
import { parseNodePortAddresses } from './cluster-options.ts';
import { checkPrivileges, logLevelOption, nodePortAddressesOption, proxyModeOption } from './server-options.ts';
import { UserError } from './usage-error.ts';

interface RawProxyOptions {
  readonly kubeconfig?: string;
  readonly config?: string;
  readonly proxyMode: ProxyMode;
  readonly clusterCidr?: string;
  readonly serviceCidr?: string;
  readonly hostnameOverride?: string;
  readonly nodeportAddresses?: readonly string[];
  readonly cleanup?: boolean;
  readonly logLevel: 'info';
}

/** Names of this proxy's table, as upstream's; one per machine. */
const TABLE = 'kube-proxy';
const MASQUERADE_MARK = 0x4000_0000;

/** The command. */
export function proxyCommand(): Command {
  const command = new Command('proxy')
    .description('serve the services of a cluster on this machine, alone')
    .option('--kubeconfig <file>', 'how to reach the cluster')
    .option('--config <file>', 'a KubeProxyConfiguration; what it says wins over flags')
    .addOption(proxyModeOption())
    .option('--cluster-cidr <ranges>', 'addresses of pods; of several families separated by a comma')
    .option('--service-cidr <ranges>', 'addresses of services; of several families separated by a comma')
    .option('--hostname-override <name>', 'name of this node (default: the host name)')
    .addOption(nodePortAddressesOption())
    .option('--cleanup', 'remove the rules of this mode and exit')
    .addOption(logLevelOption());
  return command.action(async (raw: RawProxyOptions) => {
    checkPrivileges();
    const config = raw.config === undefined ? {} : await readConfig(raw.config);
    await runProxy({ ...raw, ...settled(raw, config) });
  });
}

type Settled = Omit<RawProxyOptions, 'clusterCidr' | 'serviceCidr'> & {
  readonly nodeName: string;
  readonly mode: ProxyMode;
  readonly clusterCidr: string;
  readonly serviceCidr: string;
  readonly nodePortAddresses?: readonly string[];
};

function settled(raw: RawProxyOptions, config: KubeProxyConfiguration): Settled {
  const clusterCidr = config.clusterCidr ?? raw.clusterCidr;
  const kubeconfig = config.kubeconfig ?? raw.kubeconfig;
  const { serviceCidr } = raw;
  for (const [flag, ranges] of [
    ['--cluster-cidr', clusterCidr],
    ['--service-cidr', serviceCidr],
  ] as const) {
    if (ranges === undefined) throw new UserError(`${flag} is needed`, 2);
    const wrong = ranges.split(',').find((range) => parseCidr(range) === undefined);
    if (wrong !== undefined) throw new UserError(`${flag}: ${wrong} is not an address range`, 2);
  }
  if (kubeconfig === undefined && raw.cleanup !== true) throw new UserError('--kubeconfig is needed', 2);
  return {
    ...raw,
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    nodeName: config.nodeName ?? raw.hostnameOverride ?? hostname().toLowerCase(),
    mode: config.mode ?? raw.proxyMode,
    clusterCidr: clusterCidr ?? '',
    serviceCidr: serviceCidr ?? '',
    ...parseNodePortAddresses(config.nodePortAddresses ?? raw.nodeportAddresses),
  };
}

async function readConfig(path: string): Promise<KubeProxyConfiguration> {
  const { readFile } = await import('node:fs/promises');
  const { readKubeProxyConfiguration } = await import('../proxy/kube-proxy-configuration.ts');
  try {
    return readKubeProxyConfiguration(await readFile(path, 'utf8'));
  } catch (error) {
    throw new UserError(`--config ${path}: ${(error as Error).message}`, 2);
  }
}

async function runProxy({
  kubeconfig,
  nodeName,
  mode,
  clusterCidr,
  serviceCidr,
  nodePortAddresses = [],
  cleanup,
  logLevel,
}: Settled): Promise<void> {
  const { createServiceProxy } = await import('../proxy/service-proxy.ts');
  const { createInformerFactory } = await import('../client/informer-factory.ts');
  const { createKubeconfigClient } = await import('../client/kubeconfig.ts');
  const { createNodePlatform } = await import('../platform/node/node-platform.ts');
  const platform = createNodePlatform({ log: { level: logLevel } });
  const names = {
    nodeName,
    nftTable: TABLE,
    clusterCidr,
    serviceCidr,
    masqueradeMark: MASQUERADE_MARK,
    mode,
    nodePortAddresses,
  };
  try {
    // Taking rules away reads nothing from the API.
    const client =
      kubeconfig === undefined
        ? ({ resource: (info: object) => ({ info }) } as never)
        : await createKubeconfigClient({ ...platform, userAgent: 'kube-proxy' }, kubeconfig);
    const informers = createInformerFactory({ ...platform, client });
    const proxy = createServiceProxy({ informers, platform }, names);
    if (cleanup === true) return await proxy.remove();
    const life = new AbortController();
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => life.abort(new Error(signal)));
    informers.start(life.signal);
    await proxy.start(life.signal); // Rules stay, as upstream's.
  } finally {
    platform.close();
  }
}

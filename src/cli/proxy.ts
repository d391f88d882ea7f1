/** `keelson proxy`: the service proxy alone, for any cluster a kubeconfig reaches. */
import { hostname } from 'node:os';
import type { Command } from 'commander';
import { parseCidr } from '../base/cidr.ts';
import { errorMessage } from '../base/errors.ts';
import type { KubeProxyConfiguration } from '../proxy/kube-proxy-configuration.ts';
import type { ProxyMode } from '../proxy/proxy-config.ts';
import type { Client } from '../client/client.ts';
import type { NodePlatform } from '../platform/node/node-platform.ts';
import { parseNodePortAddresses } from './network-options.ts';
import { componentCommand, componentLog, rawOptions, readComponentFlags } from './component-command.ts';
import { logContained } from './last-net.ts';
import { proxyFixedFlags, proxyFlags, proxySettings } from './proxy-flags.ts';
import { checkPrivileges } from './server-options.ts';
import { UserError } from './usage-error.ts';

interface RawProxyOptions {
  readonly kubeconfig?: string;
  readonly master?: string;
  readonly config?: string;
  readonly proxyMode: string;
  readonly clusterCidr?: string;
  readonly serviceCidr?: string;
  readonly hostnameOverride?: string;
  readonly nodeportAddresses?: readonly string[];
  readonly healthzBindAddress?: string;
  readonly metricsBindAddress?: string;
  readonly bindAddressHardFail?: boolean;
  readonly cleanup?: boolean;
}

/** Table names, which are upstream's: one proxy per machine. */
const TABLE = 'kube-proxy';
const MASQUERADE_MARK = 0x4000_0000;

export function proxyCommand(): Command {
  return componentCommand({
    name: 'proxy',
    description: 'serve the services of a cluster on this machine, alone',
    needs: '--kubeconfig=FILE --cluster-cidr=RANGES',
    flags: proxyFlags,
    async run(args) {
      const values = readComponentFlags(args, proxyFlags, proxyFixedFlags);
      const raw: RawProxyOptions = rawOptions(values, proxySettings, { proxyMode: 'nftables' });
      checkPrivileges();
      const config = raw.config === undefined ? {} : await readConfig(raw.config);
      await runProxy({ ...raw, ...proxySettingsOf(raw, config), log: componentLog(values) });
      return 0;
    },
  });
}

const MODES: readonly ProxyMode[] = ['nftables', 'iptables', 'userspace'];

type ProxySettings = Omit<RawProxyOptions, 'clusterCidr' | 'serviceCidr'> & {
  readonly nodeName: string;
  readonly mode: ProxyMode;
  readonly clusterCidr: string;
  /** Absent: read from the cluster. */
  readonly serviceCidr?: string;
  readonly nodePortAddresses?: readonly string[];
};

function proxySettingsOf(raw: RawProxyOptions, config: KubeProxyConfiguration): ProxySettings {
  const clusterCidr = config.clusterCidr ?? raw.clusterCidr;
  const kubeconfig = config.kubeconfig ?? raw.kubeconfig;
  const { serviceCidr } = raw;
  const mode = config.mode ?? MODES.find((one) => one === raw.proxyMode);
  if (mode === undefined) throw new UserError(`--proxy-mode: ${raw.proxyMode} is none of ${MODES.join(', ')}`, 2);
  if (clusterCidr === undefined) throw new UserError('--cluster-cidr is needed', 2);
  for (const [flag, ranges] of [
    ['--cluster-cidr', clusterCidr],
    ['--service-cidr', serviceCidr],
  ] as const) {
    const wrong = ranges?.split(',').find((range) => parseCidr(range) === undefined);
    if (wrong !== undefined) throw new UserError(`${flag}: ${wrong} is not an address range`, 2);
  }
  const { healthzBindAddress = raw.healthzBindAddress, metricsBindAddress = raw.metricsBindAddress } = config;
  for (const [flag, address] of [
    ['--healthz-bind-address', healthzBindAddress],
    ['--metrics-bind-address', metricsBindAddress],
  ] as const)
    if (address !== undefined && !/:\d{1,5}$/.test(address))
      throw new UserError(`${flag}: ${address} is not of the form address:port`, 2);
  if (kubeconfig === undefined && raw.cleanup !== true) throw new UserError('--kubeconfig is needed', 2);
  return {
    ...raw,
    kubeconfig,
    nodeName: config.nodeName ?? raw.hostnameOverride ?? hostname().toLowerCase(),
    mode,
    clusterCidr,
    serviceCidr,
    healthzBindAddress: healthzBindAddress ?? '0.0.0.0:10256',
    metricsBindAddress: metricsBindAddress ?? '127.0.0.1:10249',
    bindAddressHardFail: config.bindAddressHardFail ?? raw.bindAddressHardFail ?? false,
    ...parseNodePortAddresses(config.nodePortAddresses ?? raw.nodeportAddresses),
  };
}

async function readConfig(path: string): Promise<KubeProxyConfiguration> {
  const { readFile } = await import('node:fs/promises');
  const { readKubeProxyConfiguration } = await import('../proxy/kube-proxy-configuration.ts');
  try {
    return readKubeProxyConfiguration(await readFile(path, 'utf8'));
  } catch (error) {
    throw new UserError(`--config ${path}: ${errorMessage(error)}`, 2);
  }
}

type ProxyRun = ProxySettings & { readonly log: ReturnType<typeof componentLog> };

async function runProxy(settings: ProxyRun): Promise<void> {
  const { kubeconfig, nodeName, mode, clusterCidr, nodePortAddresses = [], cleanup } = settings;
  const { createServiceProxy } = await import('../proxy/service-proxy.ts');
  const { createAbsentClient } = await import('../client/absent-client.ts');
  const { createInformerFactory } = await import('../client/informer-factory.ts');
  const { createEventBroadcaster } = await import('../client/event-broadcaster.ts');
  const { createNodePlatform } = await import('../platform/node/node-platform.ts');
  const platform = createNodePlatform({ log: settings.log });
  logContained(platform.log);
  try {
    // Taking rules away reads nothing from the API.
    const client =
      kubeconfig === undefined
        ? createAbsentClient(platform.clock, 'rules are taken away without the API')
        : await clientOf(platform, kubeconfig, settings.master);
    const serviceCidr = settings.serviceCidr ?? (cleanup === true ? clusterCidr : await serviceCidrOf(client));
    const fixed = { nodeName, nftTable: TABLE, masqueradeMark: MASQUERADE_MARK };
    const informers = createInformerFactory({ ...platform, client });
    const { clock, random, log } = platform;
    const events = createEventBroadcaster({ clock, random, log, client });
    const proxy = createServiceProxy(
      { informers, platform, recorder: events.recorderFor('kube-proxy', nodeName) },
      { ...fixed, clusterCidr, serviceCidr, mode, nodePortAddresses },
    );
    if (cleanup === true) return await proxy.remove();
    const life = new AbortController();
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => life.abort(new Error(signal)));
    const { serveProxyHealth } = await import('../cluster/alone/proxy-health.ts');
    const health = await serveProxyHealth(platform, proxy, {
      healthAddress: settings.healthzBindAddress,
      metricsAddress: settings.metricsBindAddress,
      hardFail: settings.bindAddressHardFail === true,
      mode,
    });
    informers.start(life.signal);
    events.start(life.signal);
    await proxy.start(life.signal); // Rules stay, as upstream's.
    await health.close();
  } finally {
    platform.close();
  }
}

async function clientOf(platform: NodePlatform, kubeconfig: string, master: string | undefined): Promise<Client> {
  const { loadKubeconfig } = await import('../client/kubeconfig.ts');
  const { createRestClient } = await import('../client/rest-client.ts');
  const config = await loadKubeconfig({ ...platform, userAgent: 'kube-proxy' }, kubeconfig);
  return createRestClient(master === undefined ? config : { ...config, server: master });
}

/** Service ranges as the cluster's ServiceCIDR objects state them. */
async function serviceCidrOf(client: Client): Promise<string> {
  const { ServiceCIDRs } = await import('../api/gen/resources.ts');
  const { items } = await client.resource(ServiceCIDRs).list();
  const all = items.flatMap(({ spec }) => spec?.cidrs ?? []);
  if (all.length > 0) return all.join(',');
  throw new UserError('the cluster names no ServiceCIDR: --service-cidr is needed', 2);
}

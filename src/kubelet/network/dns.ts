/**
 * The resolver configuration of pods by dnsPolicy. Upstream: pkg/kubelet/network/dns.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';

/** A resolver configuration, as CRI's DNSConfig. */
export interface DnsConfig {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** Cluster settings and where the host's own configuration comes from. */
export interface DnsConfigurerDeps {
  readonly clusterDns: readonly string[];
  /** `cluster.local`; '' when there is no cluster domain. */
  readonly clusterDomain: string;
  /** The host's resolv.conf, '' for none. Read for each pod, as hosts change networks. */
  readHostResolvConf(): Promise<string>;
  readonly recorder: KubeletEventRecorder;
}

export interface DnsConfigurer {
  /** The configuration of a pod; records an event when limits remove something. */
  podDns(pod: Pod): Promise<DnsConfig>;
}

const MAX_SERVERS = 3;
const MAX_SEARCHES = 32;
const MAX_SEARCH_CHARS = 2048;
const CLUSTER_OPTIONS = ['ndots:5'];

/** Parses resolv.conf: nameserver lines, the last search line, the last options line. */
export function parseResolvConf(text: string): DnsConfig {
  const servers: string[] = [];
  let searches: string[] = [];
  let options: string[] = [];
  for (const line of text.split('\n')) {
    const trimmed = line.replace(/[#;].*$/, '').trim();
    const [keyword, ...fields] = trimmed.split(/\s+/);
    if (keyword === 'nameserver' && fields[0] !== undefined) servers.push(fields[0]);
    else if (keyword === 'search') searches = fields.map((field) => (field === '.' ? field : field.replace(/\.$/, '')));
    else if (keyword === 'options') options = fields;
  }
  return { servers, searches, options };
}

/** The text containers see as /etc/resolv.conf. */
export function formatResolvConf(config: DnsConfig): string {
  const lines = config.servers.map((server) => `nameserver ${server}`);
  if (config.searches.length > 0) lines.unshift(`search ${config.searches.join(' ')}`);
  if (config.options.length > 0) lines.push(`options ${config.options.join(' ')}`);
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

/** Merges options by name in order of first appearance; later values win. */
function mergeOptions(existing: readonly string[], added: readonly { name?: string; value?: string }[]): string[] {
  const byName = new Map<string, string>();
  for (const option of existing) byName.set(option.split(':')[0]!, option);
  for (const { name = '', value } of added)
    byName.set(name, value === undefined || value === '' ? name : `${name}:${value}`);
  return [...byName.values()];
}

function withPodConfig(base: DnsConfig, pod: Pod): DnsConfig {
  const own = pod.spec?.dnsConfig;
  if (own === undefined) return base;
  return {
    servers: [...new Set([...base.servers, ...(own.nameservers ?? [])])],
    searches: [...new Set([...base.searches, ...(own.searches ?? [])])],
    options: mergeOptions(base.options, own.options ?? []),
  };
}

/** Applies the limits of resolvers; the second value is the message of the pod's event. */
export function applyLimits(config: DnsConfig): { config: DnsConfig; warnings: readonly string[] } {
  const warnings: string[] = [];
  const servers = config.servers.slice(0, MAX_SERVERS);
  if (servers.length < config.servers.length) {
    warnings.push(
      `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${servers.join(' ')}`,
    );
  }
  const searches: string[] = [];
  let chars = -1;
  for (const search of config.searches.slice(0, MAX_SEARCHES)) {
    chars += search.length + 1;
    if (chars > MAX_SEARCH_CHARS) break;
    searches.push(search);
  }
  if (searches.length < config.searches.length) {
    warnings.push(
      `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${searches.join(' ')}`,
    );
  }
  return { config: { servers, searches, options: config.options }, warnings };
}

type PodDnsType = 'cluster' | 'host' | 'none';

function dnsType(pod: Pod): PodDnsType {
  const policy = pod.spec?.dnsPolicy ?? 'ClusterFirst';
  if (policy === 'None') return 'none';
  if (policy === 'ClusterFirstWithHostNet') return 'cluster';
  if (policy === 'ClusterFirst') return pod.spec?.hostNetwork ? 'host' : 'cluster';
  if (policy === 'Default') return 'host';
  throw new Error(`invalid DNSPolicy=${policy}`);
}

export function createDnsConfigurer(deps: DnsConfigurerDeps): DnsConfigurer {
  const cluster = (pod: Pod, host: DnsConfig): DnsConfig => {
    const { clusterDomain, clusterDns } = deps;
    const own =
      clusterDomain === ''
        ? []
        : [`${pod.metadata.namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain];
    return { servers: clusterDns, searches: [...new Set([...own, ...host.searches])], options: CLUSTER_OPTIONS };
  };

  const base = async (pod: Pod): Promise<DnsConfig> => {
    const type = dnsType(pod);
    if (type === 'none') return { servers: [], searches: [], options: [] };
    const host = parseResolvConf(await deps.readHostResolvConf());
    if (type === 'cluster' && deps.clusterDns.length > 0) return cluster(pod, host);
    if (type === 'cluster') {
      deps.recorder.event(
        pod,
        'Warning',
        'MissingClusterDNS',
        `pod: "${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})". kubelet does not have ClusterDNS IP configured and cannot create Pod using "${pod.spec?.dnsPolicy}" policy. Falling back to "Default" policy.`,
      );
    }
    // Without nameservers resolvers use 127.0.0.1; with an empty list the runtime would copy the host's file.
    return host.servers.length > 0 ? host : { ...host, servers: ['127.0.0.1'] };
  };

  return {
    async podDns(pod) {
      const { config, warnings } = applyLimits(withPodConfig(await base(pod), pod));
      for (const warning of warnings) deps.recorder.event(pod, 'Warning', 'DNSConfigForming', warning);
      return config;
    },
  };
}

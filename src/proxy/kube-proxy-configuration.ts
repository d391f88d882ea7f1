/**
 * Parses a KubeProxyConfiguration (kubeproxy.config.k8s.io/v1alpha1). Pure. Every field is honoured, or refused by
 * name if it asks for other behaviour; none is ignored silently. Upstream: pkg/proxy/apis/config.
 */
import { parse } from 'yaml';
import { parseCidr } from '../base/cidr.ts';
import { nodePortAddressesProblem } from './node-port-addresses.ts';
import type { ProxyMode } from './proxy-config.ts';

export interface KubeProxyConfiguration {
  readonly mode?: ProxyMode;
  /** Ranges of pods, of several families separated by commas. */
  readonly clusterCidr?: string;
  readonly nodeName?: string;
  readonly kubeconfig?: string;
  /** `address:port`. */
  readonly healthzBindAddress?: string;
  readonly metricsBindAddress?: string;
  readonly bindAddressHardFail?: boolean;
  /** Ranges, or `primary`. */
  readonly nodePortAddresses?: readonly string[];
}

/** Accepted values of fields without effect, by path. Other values are refused. */
const HARMLESS: Readonly<Record<string, readonly unknown[]>> = {
  bindAddress: ['', '0.0.0.0', '::'],
  'clientConnection.acceptContentTypes': [''],
  'clientConnection.contentType': ['', 'application/json', 'application/vnd.kubernetes.protobuf'],
  // The client has no limits of its own; the server's fairness limits it.
  'clientConnection.qps': ['any'],
  'clientConnection.burst': ['any'],
  configSyncPeriod: ['any'],
  // Limits of connection tracking are not changed, neither to these values nor to upstream's defaults.
  'conntrack.maxPerCore': [null, 0, 32_768],
  'conntrack.min': [null, 0, 131_072],
  'conntrack.tcpBeLiberal': [false],
  'conntrack.tcpCloseWaitTimeout': [null, '0s', '1h0m0s'],
  'conntrack.tcpEstablishedTimeout': [null, '0s', '24h0m0s'],
  'conntrack.udpStreamTimeout': ['0s'],
  'conntrack.udpTimeout': ['0s'],
  'detectLocal.bridgeInterface': [''],
  'detectLocal.interfaceNamePrefix': [''],
  detectLocalMode: ['', 'ClusterCIDR'],
  enableProfiling: [false],
  'iptables.localhostNodePorts': [null, false],
  'iptables.masqueradeAll': [false],
  'iptables.masqueradeBit': [null, 14],
  'iptables.minSyncPeriod': ['any'],
  'iptables.syncPeriod': ['any'],
  // Settings of modes that are not implemented.
  'ipvs.excludeCIDRs': ['any'],
  'ipvs.minSyncPeriod': ['any'],
  'ipvs.scheduler': ['any'],
  'ipvs.strictARP': ['any'],
  'ipvs.syncPeriod': ['any'],
  'ipvs.tcpFinTimeout': ['any'],
  'ipvs.tcpTimeout': ['any'],
  'ipvs.udpTimeout': ['any'],
  'winkernel.enableDSR': ['any'],
  'winkernel.forwardHealthCheckVIP': ['any'],
  'winkernel.networkName': ['any'],
  'winkernel.rootHnsEndpointName': ['any'],
  'winkernel.sourceVip': ['any'],
  'logging.flushFrequency': ['any'],
  'logging.format': ['', 'text', 'json'],
  'logging.options.json.infoBufferSize': ['any'],
  'logging.options.json.splitStream': [false],
  'logging.options.text.infoBufferSize': ['any'],
  'logging.options.text.splitStream': [false],
  'logging.verbosity': ['any'],
  'nftables.masqueradeAll': [false],
  'nftables.masqueradeBit': [null, 14],
  'nftables.minSyncPeriod': ['any'],
  'nftables.syncPeriod': ['any'],
  // The process keeps the value that it was started with.
  oomScoreAdj: [null, -999],
  portRange: [''],
  showHiddenMetricsForVersion: [''],
  windowsRunAsService: [false],
};

const HONOURED = new Set([
  'apiVersion',
  'kind',
  'mode',
  'clusterCIDR',
  'hostnameOverride',
  'clientConnection.kubeconfig',
  'nodePortAddresses',
  'healthzBindAddress',
  'metricsBindAddress',
  'bindAddressHardFail',
]);
const MODES: readonly string[] = ['nftables', 'iptables', 'userspace'];

/** Parses the text. Throws an Error that names every field it cannot honour. */
export function readKubeProxyConfiguration(text: string): KubeProxyConfiguration {
  const root = parse(text) as Record<string, unknown> | null;
  if (root?.['kind'] !== 'KubeProxyConfiguration' || root['apiVersion'] !== 'kubeproxy.config.k8s.io/v1alpha1')
    throw new Error('it is no KubeProxyConfiguration of kubeproxy.config.k8s.io/v1alpha1');
  const problems = leaves(root, '').flatMap(([path, value]) => {
    if (HONOURED.has(path)) return [];
    const harmless = HARMLESS[path];
    if (harmless === undefined) return [`${path} is not supported`];
    return harmless.includes('any') || harmless.includes(value)
      ? []
      : [`${path}: ${JSON.stringify(value)} is not supported`];
  });
  const string = (value: unknown): string | undefined =>
    typeof value === 'string' && value !== '' ? value : undefined;
  const mode = string(root['mode']);
  if (mode !== undefined && !MODES.includes(mode)) problems.push(`mode: ${mode} is not one of ${MODES.join(', ')}`);
  const clusterCidr = string(root['clusterCIDR']);
  for (const cidr of clusterCidr?.split(',') ?? [])
    if (parseCidr(cidr) === undefined) problems.push(`clusterCIDR: ${cidr} is no range`);
  const nodePortAddresses: unknown = root['nodePortAddresses'] ?? [];
  if (!Array.isArray(nodePortAddresses)) problems.push('nodePortAddresses: it is no list');
  else if (nodePortAddressesProblem(nodePortAddresses) !== '')
    problems.push(nodePortAddressesProblem(nodePortAddresses));
  if (problems.length > 0) throw new Error(problems.join('; '));
  const nodeName = string(root['hostnameOverride']);
  const healthzBindAddress = string(root['healthzBindAddress']);
  const metricsBindAddress = string(root['metricsBindAddress']);
  const connection = root['clientConnection'] as { kubeconfig?: unknown } | null | undefined;
  const kubeconfig = string(connection?.kubeconfig);
  return {
    ...(mode === undefined ? {} : { mode: mode as ProxyMode }),
    ...(clusterCidr === undefined ? {} : { clusterCidr }),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(healthzBindAddress === undefined ? {} : { healthzBindAddress }),
    ...(metricsBindAddress === undefined ? {} : { metricsBindAddress }),
    ...(typeof root['bindAddressHardFail'] === 'boolean' ? { bindAddressHardFail: root['bindAddressHardFail'] } : {}),
    ...((nodePortAddresses as readonly string[]).length === 0
      ? {}
      : { nodePortAddresses: nodePortAddresses as readonly string[] }),
  };
}

/** Every scalar value with its path. */
function leaves(value: object, prefix: string): (readonly [path: string, value: unknown])[] {
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]) => {
    const path = prefix === '' ? key : `${prefix}.${key}`;
    if (Array.isArray(inner)) return inner.length === 0 ? [] : [[path, inner] as const];
    return typeof inner === 'object' && inner !== null ? leaves(inner, path) : [[path, inner] as const];
  });
}

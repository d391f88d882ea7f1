/**
 * Settings in which all servers of a cluster must agree. The cluster publishes them (ConfigMap
 * kube-system/keelson-config); a server that joins with others is refused. Upstream: k3s's critical configuration.
 *
 * Differs: ranges and flannel backend that the joining server's command line leaves out are the cluster's.
 */
import type { ClusterOptions } from '../cluster-options.ts';
import { PreflightError } from '../preflight-error.ts';

interface CriticalSetting {
  readonly flag: string;
  /** The value where the flag is left out; absent: the cluster's. */
  readonly byDefault?: string;
  /** Undefined where the flag was left out. */
  valueOf(options: ClusterOptions): string | undefined;
}

const DEFAULT_GATEWAY_PORTS = { http: 80, https: 443 };

/** By key of the ConfigMap. */
const CRITICAL: Readonly<Record<string, CriticalSetting>> = {
  clusterCidr: { flag: 'cluster-cidr', valueOf: ({ clusterCidr }) => clusterCidr },
  serviceCidr: { flag: 'service-cidr', valueOf: ({ serviceCidr }) => serviceCidr },
  clusterDomain: {
    flag: 'cluster-domain',
    byDefault: 'cluster.local',
    valueOf: ({ clusterDomain }) => clusterDomain,
  },
  flannelBackend: { flag: 'flannel-backend', valueOf: ({ flannelBackend }) => flannelBackend },
  cni: { flag: 'cni', byDefault: 'keelson', valueOf: ({ cni }) => cni },
  dns: { flag: 'dns', byDefault: 'keelson', valueOf: ({ dns }) => dns },
  loadBalancer: { flag: 'load-balancer', byDefault: 'keelson', valueOf: ({ loadBalancer }) => loadBalancer },
  localPath: { flag: 'local-path', byDefault: 'keelson', valueOf: ({ localPath }) => localPath },
  metrics: { flag: 'metrics', byDefault: 'keelson', valueOf: ({ metrics }) => metrics },
  gateway: { flag: 'gateway', byDefault: 'none', valueOf: ({ gateway }) => (gateway ? 'keelson' : 'none') },
  gatewayHttpPort: {
    flag: 'gateway-http-port',
    byDefault: String(DEFAULT_GATEWAY_PORTS.http),
    valueOf: ({ gateway }) => String((gateway ?? DEFAULT_GATEWAY_PORTS).http),
  },
  gatewayHttpsPort: {
    flag: 'gateway-https-port',
    byDefault: String(DEFAULT_GATEWAY_PORTS.https),
    valueOf: ({ gateway }) => String((gateway ?? DEFAULT_GATEWAY_PORTS).https),
  },
};

const GATEWAY_KEYS = ['gateway', 'gatewayHttpPort', 'gatewayHttpsPort'];
const PART_KEYS = ['loadBalancer', 'localPath', 'metrics', ...GATEWAY_KEYS];

/** What a server publishes of its parts. One without a node serves no routes, whatever the others do. */
export function publishedParts(options: ClusterOptions): Readonly<Record<string, string>> {
  const keys = PART_KEYS.filter((key) => !isExempt(key, options));
  return Object.fromEntries(keys.map((key) => [key, ownValue(key, options) ?? '']));
}

/** Throws `PreflightError` with the flags to give. */
export function checkCriticalSettings(options: ClusterOptions, published: Values): void {
  const keys = Object.keys(CRITICAL).filter((key) => !isExempt(key, options));
  const own = Object.fromEntries(keys.map((key) => [key, ownValue(key, options)]));
  const differing = criticalDifferences(own, published).map(
    (each) => `--${each.flag} ${each.published} (this server has ${each.own})`,
  );
  if (differing.length > 0)
    throw new PreflightError(
      `critical configuration value mismatch between servers: the cluster was started with ${differing.join(', ')}; give this server the same`,
    );
}

/** Values by key of the ConfigMap. */
type Values = Readonly<Record<string, string | undefined>>;

interface CriticalDifference {
  readonly flag: string;
  readonly own: string;
  readonly published: string;
}

/** Settings that one side does not have, such as those that an older server does not publish, are not compared. */
export function criticalDifferences(own: Values, published: Values): readonly CriticalDifference[] {
  return Object.entries(CRITICAL).flatMap(([key, { flag }]) => {
    const [ours, theirs] = [own[key], published[key]];
    if (ours === undefined || theirs === undefined || ours === theirs || isIdle(key, published)) return [];
    return [{ flag, own: ours, published: theirs }];
  });
}

/** Flags that a server needs to join; '' where the defaults do. */
export function joiningFlags(published: Values): string {
  return Object.entries(CRITICAL)
    .filter(([key, { byDefault }]) => byDefault !== undefined && (published[key] ?? byDefault) !== byDefault)
    .filter(([key]) => !isIdle(key, published))
    .map(([key, { flag }]) => ` --${flag} ${published[key]}`)
    .join('');
}

function ownValue(key: string, options: ClusterOptions): string | undefined {
  const { valueOf, byDefault } = CRITICAL[key]!;
  return valueOf(options) ?? byDefault;
}

function isExempt(key: string, { disableAgent }: ClusterOptions): boolean {
  return disableAgent === true && GATEWAY_KEYS.includes(key);
}

/** Ports mean nothing in a cluster that serves no routes. */
function isIdle(key: string, { gateway }: Values): boolean {
  return key !== 'gateway' && GATEWAY_KEYS.includes(key) && gateway !== 'keelson';
}

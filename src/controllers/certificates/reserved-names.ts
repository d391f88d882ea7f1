/**
 * Names and addresses that no kubelet certificate may have, whoever approved it: with a certificate of the cluster's
 * authority a kubelet could pose as the API server, a webhook or a service on loopback. Upstream signs such requests
 * once they are approved. Pure.
 */
import { type Cidr, cidrContains, parseCidr, parseIp, unmapped } from '../../base/cidr.ts';
import { isDns1123Subdomain } from '../../api/names.ts';

/** The names in the API server's certificate, and the cluster's ranges and domain. */
export interface ReservedConfig {
  readonly clusterDomain?: string;
  readonly serviceCidrs?: readonly string[];
  readonly apiServerNames?: { readonly dnsNames: readonly string[]; readonly ipAddresses: readonly string[] };
}

/** Checks names and addresses. */
export interface ReservedNames {
  /** Why a node may not have the name; undefined when it may. */
  nodeNameProblem(name: string): string | undefined;
  hasDnsName(name: string): boolean;
  hasAddress(address: string): boolean;
}

/**
 * Unspecified, loopback, link-local, multicast and reserved addresses, with broadcast; in IPv6 also discard-only ones
 * and those that embed IPv4.
 */
const NOBODYS = [
  ...['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '240.0.0.0/4'],
  ...['::/96', '100::/64', 'fe80::/9', 'ff00::/8'],
];

/** Parses the configuration; invalid ranges are ignored. */
export function reservedNames({
  clusterDomain = 'cluster.local',
  serviceCidrs = [],
  apiServerNames = { dnsNames: [], ipAddresses: [] },
}: ReservedConfig): ReservedNames {
  const ranges = [...NOBODYS, ...serviceCidrs].map(parseCidr).filter((range): range is Cidr => range !== undefined);
  const domains = ['localhost', 'svc', plain(clusterDomain)];
  const own = new Set(apiServerNames.dnsNames.map(plain));
  const addresses = new Set(apiServerNames.ipAddresses.map(canonical));
  const hasDnsName = (asked: string): boolean => {
    const name = plain(asked);
    if (own.has(name) || name === 'kubernetes' || name.startsWith('kubernetes.')) return true;
    return domains.some((domain) => name === domain || name.endsWith(`.${domain}`));
  };
  return {
    hasDnsName,
    nodeNameProblem(name) {
      const [complaint] = isDns1123Subdomain(name);
      if (complaint !== undefined) return `subject common name holds no node name: ${complaint}`;
      return hasDnsName(name) ? `the node name ${name} is a name of the cluster itself` : undefined;
    },
    hasAddress(text) {
      const ip = parseIp(text);
      if (ip === undefined) return true;
      const address = unmapped(ip);
      return addresses.has(canonical(text)) || ranges.some((range) => cidrContains(range, address));
    },
  };
}

function plain(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

function canonical(text: string): string {
  const ip = parseIp(text);
  if (ip === undefined) return text;
  const { family, value } = unmapped(ip);
  return `${family} ${value}`;
}

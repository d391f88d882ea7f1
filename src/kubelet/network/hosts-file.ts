/** /etc/hosts of pods and their host names. Upstream: kubelet_pods.go (ensureHostsFile, managedHostsFileContent, GeneratePodHostNameAndDomain). */
import type { HostAlias, Pod } from '../../api/gen/core-v1.ts';
import { getOrMake } from '../../base/get-or-make.ts';

const MAX_HOST_NAME_CHARS = 63;

/** A pod's host name and its domain ('' when it has no subdomain). */
export interface PodHostName {
  readonly hostname: string;
  readonly domain: string;
}

/** Host name and domain by spec.hostname, spec.subdomain and the pod's name. */
export function podHostName(pod: Pod, clusterDomain: string): PodHostName {
  const { hostname, subdomain, hostnameOverride } = pod.spec ?? {};
  if (hostnameOverride) return { hostname: hostnameOverride, domain: '' };
  const name = (hostname || pod.metadata.name || '').slice(0, MAX_HOST_NAME_CHARS).replace(/[-.]+$/, '');
  const domain = subdomain ? `${subdomain}.${pod.metadata.namespace}.svc.${clusterDomain}` : '';
  return { hostname: name, domain };
}

/** The sandbox's host name: the FQDN under setHostnameAsFQDN. Throws when it is too long for the kernel. */
export function sandboxHostName(pod: Pod, clusterDomain: string): string {
  const { hostname, domain } = podHostName(pod, clusterDomain);
  if (!pod.spec?.setHostnameAsFQDN || domain === '') return hostname;
  const full = `${hostname}.${domain}`;
  if (full.length > 64) {
    throw new Error(
      `failed to create Pod sandbox because FQDN "${full}" is longer than 64 characters, which is the maximum; FQDN length is ${full.length}`,
    );
  }
  return full;
}

const linesOf = new WeakMap<readonly HostAlias[], string>();

/** Remembered: the file is written for each of a pod's containers, and may be a megabyte. */
function aliasLines(aliases: readonly HostAlias[] | undefined): string {
  if (aliases === undefined || aliases.length === 0) return '';
  return getOrMake(linesOf, aliases, () => makeAliasLines(aliases));
}

function makeAliasLines(aliases: readonly HostAlias[]): string {
  return `\n# Entries added by HostAliases.\n${aliases.map((alias) => `${alias.ip}\t${(alias.hostnames ?? []).join('\t')}\n`).join('')}`;
}

/** The file for a pod with its own network. */
export function managedHostsFile(input: { pod: Pod; podIps: readonly string[]; clusterDomain: string }): string {
  const { hostname, domain } = podHostName(input.pod, input.clusterDomain);
  const names = domain === '' ? hostname : `${hostname}.${domain}\t${hostname}`;
  const head = [
    '# Kubernetes-managed hosts file.',
    '127.0.0.1\tlocalhost',
    '::1\tlocalhost ip6-localhost ip6-loopback',
    'fe00::0\tip6-localnet',
    'fe00::0\tip6-mcastprefix',
    'fe00::1\tip6-allnodes',
    'fe00::2\tip6-allrouters',
  ];
  const own = input.podIps.map((ip) => `${ip}\t${names}`);
  return `${[...head, ...own].join('\n')}\n${aliasLines(input.pod.spec?.hostAliases)}`;
}

/** The file for a pod in the host's network: the host's own and the pod's aliases. */
export function hostNetworkHostsFile(hostFile: string, pod: Pod): string {
  return `# Kubernetes-managed hosts file (host network).\n${hostFile}${aliasLines(pod.spec?.hostAliases)}`;
}

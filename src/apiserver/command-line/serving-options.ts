/** Addresses and certificates of the API: flags of upstream's SecureServingOptions and ServerRunOptions. */
import { onlyDefined } from '../../base/only-defined.ts';
import { parseCidr } from '../../base/cidr.ts';
import { FlagError, type FlagValues, type OptionSet } from '../../component-helpers/command-line/flags.ts';
import { addressOf, tlsOptions, type TlsServingOptions } from '../../component-helpers/command-line/tls-options.ts';

const tls = tlsOptions({ securePort: 6443, leastPort: 1, certDir: '/var/run/kubernetes' });

export interface ServingOptions extends TlsServingOptions {
  /** Default: the machine's own address. */
  readonly advertiseAddress?: string;
  /** The host in URLs given to clients. Default: the address. */
  readonly externalHostname?: string;
  /** Whether pods may have privileged containers. */
  readonly allowPrivileged: boolean;
  /** The client certificate for kubelets, and the authority of theirs. */
  readonly kubeletClientCertificate?: string;
  readonly kubeletClientKey?: string;
  readonly kubeletCertificateAuthority?: string;
  /** Kinds of node addresses by which kubelets are reached, in the order they are tried. */
  readonly kubeletAddressTypes?: readonly string[];
  /** The client certificate for aggregated API servers and webhooks. */
  readonly proxyClientCertificate?: string;
  readonly proxyClientKey?: string;
  /** Whether redirects of aggregated API servers are answered with 502 instead of passed on to clients. */
  readonly rejectForwardingRedirects: boolean;
  /** One range, or one of each family. */
  readonly serviceClusterIpRanges: readonly string[];
  readonly runtimeConfig: string;
  /** Whether the console in the browser is served at /console/. */
  readonly console: boolean;
}

/** Addresses, ports, certificates, ranges. */
export const servingOptions: OptionSet<ServingOptions> = {
  flags: [
    ...tls.flags,
    {
      name: 'advertise-address',
      type: 'string',
      description: 'address by which members of the cluster reach this server',
    },
    {
      name: 'external-hostname',
      type: 'string',
      description: 'host in the URLs told to others, such as where the keys of tokens are',
    },
    {
      name: 'allow-privileged',
      type: 'bool',
      description: 'let pods have privileged containers (default false)',
    },
    { name: 'kubelet-client-certificate', type: 'string', description: 'client certificate for kubelets' },
    { name: 'kubelet-client-key', type: 'string', description: 'its private key' },
    {
      name: 'kubelet-certificate-authority',
      type: 'string',
      description: "authority of the kubelets' serving certificates (default: they are not verified)",
    },
    {
      name: 'kubelet-preferred-address-types',
      type: 'list',
      description: 'kinds of node addresses by which kubelets are reached, in this order',
    },
    {
      name: 'proxy-client-cert-file',
      type: 'string',
      description: 'client certificate for aggregated API servers, which trust what we say of users',
    },
    { name: 'proxy-client-key-file', type: 'string', description: 'its private key' },
    {
      name: 'aggregator-reject-forwarding-redirect',
      type: 'bool',
      description: 'answer redirects of aggregated API servers with 502 instead of passing them on (default true)',
    },
    {
      name: 'service-cluster-ip-range',
      type: 'list',
      description: 'range of cluster IPs, or one of each family (default 10.0.0.0/24)',
    },
    { name: 'console', type: 'bool', description: 'serve the console in the browser at /console/ (default true)' },
    { name: 'runtime-config', type: 'list', description: 'API versions to serve or not, e.g. api/beta=true' },
  ],
  read(values) {
    const optional = (name: string): string | undefined => values.text(name);
    const pairs = [
      ['kubelet-client-certificate', 'kubelet-client-key'],
      ['proxy-client-cert-file', 'proxy-client-key-file'],
    ] as const;
    for (const [cert, key] of pairs)
      if ((optional(cert) === undefined) !== (optional(key) === undefined))
        throw new FlagError(`--${cert} and --${key} go together`);
    const texts = {
      externalHostname: optional('external-hostname'),
      advertiseAddress: addressOf(values, 'advertise-address'),
      kubeletClientCertificate: optional('kubelet-client-certificate'),
      kubeletClientKey: optional('kubelet-client-key'),
      kubeletCertificateAuthority: optional('kubelet-certificate-authority'),
      proxyClientCertificate: optional('proxy-client-cert-file'),
      proxyClientKey: optional('proxy-client-key-file'),
    };
    const kubeletAddressTypes = addressTypes(values);
    return {
      ...tls.read(values),
      kubeletAddressTypes,
      ...onlyDefined(texts),
      allowPrivileged: values.bool('allow-privileged') ?? false,
      rejectForwardingRedirects: values.bool('aggregator-reject-forwarding-redirect') ?? true,
      serviceClusterIpRanges: ranges(values),
      console: values.bool('console') ?? true,
      runtimeConfig: (values.list('runtime-config') ?? []).join(','),
    };
  },
};

const NODE_ADDRESS_TYPES = ['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP'];

function addressTypes(values: FlagValues): readonly string[] | undefined {
  const list = values.list('kubelet-preferred-address-types');
  const unknown = list?.find((one) => !NODE_ADDRESS_TYPES.includes(one));
  if (unknown !== undefined)
    throw new FlagError(`--kubelet-preferred-address-types: ${unknown} is none of ${NODE_ADDRESS_TYPES.join(', ')}`);
  return list?.length === 0 ? undefined : list; // Empty: those by default.
}

function ranges(values: FlagValues): readonly string[] {
  const list = values.list('service-cluster-ip-range') ?? ['10.0.0.0/24'];
  const parsed = list.map((text) => parseCidr(text));
  if (parsed.some((range) => range === undefined))
    throw new FlagError('--service-cluster-ip-range is not a list of valid CIDRs');
  if (list.length > 2) throw new FlagError('--service-cluster-ip-range must not contain more than two entries');
  if (parsed.length === 2 && parsed[0]!.family === parsed[1]!.family)
    throw new FlagError(
      '--service-cluster-ip-range and --secondary-service-cluster-ip-range must be of different IP family',
    );
  return list;
}

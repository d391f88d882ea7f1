/** Where the API is served, and with which certificates: flags of upstream's SecureServingOptions and ServerRunOptions. */
import { parseCidr, parseIp } from '../../base/cidr.ts';
import { openSslCipher, TLS_VERSIONS } from '../../component-helpers/tls-names.ts';
import { FlagError, type FlagValues, type OptionSet, wholeNumber } from './flags.ts';

/** The server's settings. */
export interface ServingOptions {
  readonly bindAddress: string;
  readonly securePort: number;
  /** Default: the machine's own address. */
  readonly advertiseAddress?: string;
  readonly certDir: string;
  readonly tlsCertFile?: string;
  readonly tlsKeyFile?: string;
  readonly tlsMinVersion: 'TLSv1.2' | 'TLSv1.3';
  /** By OpenSSL's names. */
  readonly tlsCiphers?: readonly string[];
  readonly clientCaFile?: string;
  /** The client certificate for kubelets, and who signed theirs. */
  readonly kubeletClientCertificate?: string;
  readonly kubeletClientKey?: string;
  readonly kubeletCertificateAuthority?: string;
  /** Kinds of node addresses by which kubelets are reached, in the order they are tried. */
  readonly kubeletAddressTypes?: readonly string[];
  /** The client certificate for aggregated API servers and webhooks. */
  readonly proxyClientCertificate?: string;
  readonly proxyClientKey?: string;
  /** One range, or one of each family. */
  readonly serviceClusterIpRanges: readonly string[];
  readonly runtimeConfig: string;
}

/** Addresses, ports, certificates, ranges. */
export const servingOptions: OptionSet<ServingOptions> = {
  flags: [
    { name: 'bind-address', type: 'string', description: 'address to listen on (default 0.0.0.0)' },
    { name: 'secure-port', type: 'string', description: 'port to serve HTTPS on (default 6443)' },
    {
      name: 'advertise-address',
      type: 'string',
      description: 'address by which members of the cluster reach this server',
    },
    {
      name: 'cert-dir',
      type: 'string',
      description: 'where certificates made here are kept (default "/var/run/kubernetes")',
    },
    { name: 'tls-cert-file', type: 'string', description: 'serving certificate; without it one is made in --cert-dir' },
    { name: 'tls-private-key-file', type: 'string', description: 'its private key' },
    { name: 'tls-min-version', type: 'string', description: 'VersionTLS12 (default) or VersionTLS13' },
    { name: 'tls-cipher-suites', type: 'list', description: 'cipher suites to offer, by the names of their standard' },
    { name: 'client-ca-file', type: 'string', description: 'authority whose client certificates are users' },
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
      name: 'service-cluster-ip-range',
      type: 'list',
      description: 'range of cluster IPs, or one of each family (default 10.0.0.0/24)',
    },
    { name: 'runtime-config', type: 'list', description: 'API versions to serve or not, e.g. api/beta=true' },
  ],
  read(values) {
    const optional = (name: string): string | undefined => values.text(name);
    const pairs = [
      ['tls-cert-file', 'tls-private-key-file'],
      ['kubelet-client-certificate', 'kubelet-client-key'],
      ['proxy-client-cert-file', 'proxy-client-key-file'],
    ] as const;
    for (const [cert, key] of pairs)
      if ((optional(cert) === undefined) !== (optional(key) === undefined))
        throw new FlagError(`--${cert} and --${key} go together`);
    const texts = {
      advertiseAddress: address(values, 'advertise-address'),
      tlsCertFile: optional('tls-cert-file'),
      tlsKeyFile: optional('tls-private-key-file'),
      clientCaFile: optional('client-ca-file'),
      kubeletClientCertificate: optional('kubelet-client-certificate'),
      kubeletClientKey: optional('kubelet-client-key'),
      kubeletCertificateAuthority: optional('kubelet-certificate-authority'),
      proxyClientCertificate: optional('proxy-client-cert-file'),
      proxyClientKey: optional('proxy-client-key-file'),
    };
    const kubeletAddressTypes = addressTypes(values);
    const tlsCiphers = values.list('tls-cipher-suites')?.map(cipherOf);
    return {
      ...(kubeletAddressTypes !== undefined && { kubeletAddressTypes }),
      ...(tlsCiphers !== undefined && { tlsCiphers }),
      tlsMinVersion: minVersion(values),
      ...(Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== undefined)) as Partial<typeof texts> &
        Record<never, never>),
      bindAddress: address(values, 'bind-address') ?? '0.0.0.0',
      securePort: wholeNumber(values, 'secure-port', { from: 1, to: 65_535 }) ?? 6443,
      certDir: optional('cert-dir') ?? '/var/run/kubernetes',
      serviceClusterIpRanges: ranges(values),
      runtimeConfig: (values.list('runtime-config') ?? []).join(','),
    } as ServingOptions;
  },
};

function minVersion(values: FlagValues): ServingOptions['tlsMinVersion'] {
  const text = values.text('tls-min-version') ?? 'VersionTLS12';
  const version = TLS_VERSIONS[text];
  if (version === undefined)
    throw new FlagError(
      `--tls-min-version: ${text} is not offered; there are ${Object.keys(TLS_VERSIONS).join(' and ')}`,
    );
  return version;
}

function cipherOf(name: string): string {
  const cipher = openSslCipher(name);
  if (cipher === undefined)
    throw new FlagError(`--tls-cipher-suites: Cipher suite ${name} not supported or doesn't exist`);
  return cipher;
}

const NODE_ADDRESS_TYPES = ['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP'];

function addressTypes(values: FlagValues): readonly string[] | undefined {
  const list = values.list('kubelet-preferred-address-types');
  const unknown = list?.find((one) => !NODE_ADDRESS_TYPES.includes(one));
  if (unknown !== undefined)
    throw new FlagError(`--kubelet-preferred-address-types: ${unknown} is none of ${NODE_ADDRESS_TYPES.join(', ')}`);
  return list;
}

function address(values: FlagValues, name: string): string | undefined {
  const text = values.text(name);
  if (text !== undefined && parseIp(text) === undefined)
    throw new FlagError(
      `invalid argument ${JSON.stringify(text)} for "--${name}" flag: failed to parse IP: ${JSON.stringify(text)}`,
    );
  return text;
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

/**
 * The address, certificates and TLS versions with which a component serves: flags of upstream's SecureServingOptions.
 */
import { onlyDefined } from '../../base/only-defined.ts';
import { parseIp } from '../../base/cidr.ts';
import { openSslCipher, TLS_VERSIONS } from '../tls-names.ts';
import { FlagError, type FlagValues, type OptionSet, wholeNumber } from './flags.ts';

export interface TlsServingOptions {
  readonly bindAddress: string;
  /** 0: no server. */
  readonly securePort: number;
  /** '': generated certificates are kept in memory only. */
  readonly certDir: string;
  readonly tlsCertFile?: string;
  readonly tlsKeyFile?: string;
  readonly tlsMinVersion: 'TLSv1.2' | 'TLSv1.3';
  /** By OpenSSL's names. */
  readonly tlsCiphers?: readonly string[];
  /** Certificates for connections that ask for these names. */
  readonly sniCertificates: readonly SniCertificateFiles[];
  readonly http2: boolean;
  /** The most streams of an HTTP/2 connection; absent: Node.js's default. */
  readonly http2MaxStreams?: number;
  /** Whether other processes may listen on the same port. */
  readonly sharesPort: boolean;
  readonly clientCaFile?: string;
}

/** A pair of `--tls-sni-cert-key`. */
export interface SniCertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** `*.example.com` too; empty: those in the certificate. */
  readonly names: readonly string[];
}

/** The defaults of serving. `leastPort` 0: serving may be disabled. */
export interface ServingDefaults {
  readonly securePort: number;
  readonly leastPort: 0 | 1;
  readonly certDir: string;
}

/** A component's serving flags with these defaults. */
export function tlsOptions(defaults: ServingDefaults): OptionSet<TlsServingOptions> {
  const { securePort, leastPort, certDir } = defaults;
  return {
    flags: [
      { name: 'bind-address', type: 'string', description: 'address to listen on (default 0.0.0.0)' },
      { name: 'secure-port', type: 'string', description: `port to serve HTTPS on (default ${securePort})` },
      {
        name: 'cert-dir',
        type: 'string',
        description: `where certificates made here are kept (default ${JSON.stringify(certDir)})`,
      },
      ...CERTIFICATE_FLAGS,
    ],
    read(values) {
      if ((values.text('tls-cert-file') === undefined) !== (values.text('tls-private-key-file') === undefined))
        throw new FlagError('--tls-cert-file and --tls-private-key-file go together');
      const texts = {
        tlsCertFile: values.text('tls-cert-file'),
        tlsKeyFile: values.text('tls-private-key-file'),
        clientCaFile: values.text('client-ca-file'),
      };
      const http2MaxStreams = wholeNumber(values, 'http2-max-streams-per-connection', { from: 0, to: 2 ** 31 }) ?? 0;
      const tlsCiphers = values.list('tls-cipher-suites')?.map(cipherOf);
      return {
        ...onlyDefined(texts),
        tlsCiphers: tlsCiphers !== undefined && tlsCiphers.length > 0 ? tlsCiphers : undefined, // Empty: as usual.
        http2MaxStreams: http2MaxStreams > 0 ? http2MaxStreams : undefined,
        tlsMinVersion: minVersion(values),
        sniCertificates: values.texts('tls-sni-cert-key').map(sniCertificate),
        http2: values.bool('disable-http2-serving') !== true,
        sharesPort: values.bool('permit-port-sharing') ?? false,
        bindAddress: addressOf(values, 'bind-address') ?? '0.0.0.0',
        securePort: wholeNumber(values, 'secure-port', { from: leastPort, to: 65_535 }) ?? securePort,
        certDir: values.text('cert-dir') ?? certDir,
      };
    },
  };
}

const CERTIFICATE_FLAGS: OptionSet<never>['flags'] = [
  { name: 'tls-cert-file', type: 'string', description: 'serving certificate; without it one is made' },
  { name: 'tls-private-key-file', type: 'string', description: 'its private key' },
  {
    name: 'tls-sni-cert-key',
    type: 'list',
    description: 'certificate,key[:name,...] for connections that ask for these names; repeatable',
  },
  { name: 'tls-min-version', type: 'string', description: 'VersionTLS12 (default) or VersionTLS13' },
  { name: 'tls-cipher-suites', type: 'list', description: 'cipher suites to offer, by the names of their standard' },
  { name: 'client-ca-file', type: 'string', description: 'authority whose client certificates are users' },
  { name: 'disable-http2-serving', type: 'bool', description: 'serve HTTP/1.1 alone (default false)' },
  {
    name: 'http2-max-streams-per-connection',
    type: 'string',
    description: 'streams an HTTP/2 connection may have; 0: as many as usual (default)',
  },
  { name: 'permit-port-sharing', type: 'bool', description: 'let other processes listen on the port too' },
];

function minVersion(values: FlagValues): TlsServingOptions['tlsMinVersion'] {
  const text = values.text('tls-min-version') ?? 'VersionTLS12';
  const version = TLS_VERSIONS[text];
  if (version !== undefined) return version;
  const offered = Object.keys(TLS_VERSIONS).join(' and ');
  throw new FlagError(`--tls-min-version: ${text} is not offered; there are ${offered}`);
}

/** `a.crt,a.key` or `a.crt,a.key:*.foo.com,foo.com`. */
function sniCertificate(text: string): SniCertificateFiles {
  const at = text.lastIndexOf(':');
  const [files, names] = at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
  const [certFile = '', keyFile = '', ...more] = files.split(',').map((part) => part.trim());
  if (certFile === '' || keyFile === '' || more.length > 0)
    throw new FlagError('--tls-sni-cert-key: expected comma separated certificate and key file paths');
  return {
    certFile,
    keyFile,
    names: names
      .split(',')
      .map((name) => name.trim().toLowerCase())
      .filter((name) => name !== ''),
  };
}

function cipherOf(name: string): string {
  const cipher = openSslCipher(name);
  if (cipher === undefined)
    throw new FlagError(`--tls-cipher-suites: Cipher suite ${name} not supported or doesn't exist`);
  return cipher;
}

/** An address; undefined when the flag was not given. Throws `FlagError`. */
export function addressOf(values: FlagValues, name: string): string | undefined {
  const text = values.text(name);
  if (text !== undefined && parseIp(text) === undefined)
    throw new FlagError(
      `invalid argument ${JSON.stringify(text)} for "--${name}" flag: failed to parse IP: ${JSON.stringify(text)}`,
    );
  return text;
}

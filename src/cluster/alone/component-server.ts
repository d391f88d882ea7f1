/**
 * The HTTPS server of a standalone component: public health, and metrics for authorized users. Upstream:
 * SecureServingOptions.
 */
import { ConfigMaps } from '../../api/gen/resources.ts';
import { errorMessage } from '../../base/errors.ts';
import { createAuthority, issueCertificate, type KeyPairPem } from '../../component-helpers/pki/certificates.ts';
import type { TlsServingOptions } from '../../component-helpers/command-line/tls-options.ts';
import { certificateBlocks } from '../../platform/certificate-blocks.ts';
import type { HttpHandler, HttpServer } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';
import { type ComponentAccess, guarded } from './component-access.ts';
import { followServingFiles, servedIdentity } from './serving-files.ts';

export interface ComponentServerDeps {
  readonly platform: Pick<Platform, 'listenHttp' | 'files' | 'crypto' | 'random' | 'clock' | 'log' | 'host'>;
  /** `kube-scheduler`: names the certificate that is created if none is configured. */
  readonly name: string;
  readonly handler: HttpHandler;
}

const YEAR_MS = 365 * 86_400_000;

/**
 * Opens the server. Changed certificates and client authorities are reloaded until it is closed. Rejects for files
 * that cannot be read, for failed lookups that are not tolerated, and for ports in use.
 */
export async function openComponentServer(
  deps: ComponentServerDeps,
  serving: TlsServingOptions,
  access: ComponentAccess,
): Promise<Pick<HttpServer, 'port' | 'close'>> {
  const { platform, handler } = deps;
  const { pem: clientCaPem, readAgain } = await clientAuthority(deps, serving, access);
  const pair = await certificate(deps, serving);
  const sni = await Promise.all(
    serving.sniCertificates.map(async ({ certFile, keyFile, names }) => ({
      certPem: await platform.files.readText(certFile),
      keyPem: await platform.files.readText(keyFile),
      names,
    })),
  );
  const server = await platform.listenHttp(
    {
      host: serving.bindAddress,
      port: serving.securePort,
      sharesPort: serving.sharesPort,
      tls: {
        ...pair,
        sni,
        http2: serving.http2,
        minVersion: serving.tlsMinVersion,
        http2MaxStreams: serving.http2MaxStreams || undefined,
        ciphers: serving.tlsCiphers,
        clientCaPem,
      },
    },
    guarded(handler, platform, access),
  );
  const { tlsCertFile: certFile = '', tlsKeyFile: keyFile = '', clientCaFile = '' } = serving;
  const initial = { pair, clientCaPem, sni };
  const life = new AbortController();
  followServingFiles(
    platform,
    {
      paths: { certFile, keyFile, clientCaFile, sni: serving.sniCertificates },
      identity: servedIdentity(server, initial),
      initial,
      readClientCa: readAgain,
    },
    life.signal,
  );
  return {
    port: server.port,
    close(graceMs) {
      life.abort();
      return server.close(graceMs);
    },
  };
}

interface ClientAuthority {
  /** Absent: client certificates are not requested. */
  readonly pem?: string | undefined;
  /** Reads an authority that does not come from a file; undefined when it is unknown. */
  readonly readAgain?: () => Promise<string | undefined>;
}

/**
 * The authority of clients: from the file, or the cluster's own, which may become known later. The server requests
 * client certificates from the start, as it cannot begin to later; until then they are verified against an authority
 * whose key nobody has.
 */
async function clientAuthority(
  { platform }: ComponentServerDeps,
  { clientCaFile }: TlsServingOptions,
  { authentication, skipsLookup, toleratesLookupFailure }: ComponentAccess,
): Promise<ClientAuthority> {
  const { files, log, crypto, random, clock } = platform;
  if (clientCaFile !== undefined) return { pem: await files.readText(clientCaFile) };
  if (authentication === undefined || skipsLookup) return {};
  const key = { namespace: 'kube-system', name: 'extension-apiserver-authentication' };
  const readAgain = async (): Promise<string | undefined> =>
    (await authentication.resource(ConfigMaps).get(key)).data?.['client-ca-file'] || undefined;
  let pem: string | undefined;
  try {
    pem = await readAgain();
    if (pem !== undefined) certificateBlocks(pem); // throws on invalid input
  } catch (err) {
    if (!toleratesLookupFailure)
      throw new Error(`unable to load configmap based client-ca-file: ${errorMessage(err)}`, { cause: err });
    log.warn('Unable to get the authorities of clients from the cluster; client certificates count for nothing yet', {
      err,
    });
    pem = undefined;
  }
  if (pem !== undefined) return { pem, readAgain };
  const making = { crypto, random, nowMs: () => clock.nowMs() };
  return { pem: (await createAuthority(making, 'nobody', YEAR_MS)).certPem, readAgain };
}

/** The certificate in the files, or a self-signed one, which is kept in the folder if there is one. */
async function certificate(
  { platform, name }: ComponentServerDeps,
  { tlsCertFile, tlsKeyFile, certDir }: TlsServingOptions,
): Promise<KeyPairPem> {
  const { files, crypto, random, clock, host } = platform;
  const kept = certDir === '' ? undefined : { cert: `${certDir}/${name}.crt`, key: `${certDir}/${name}.key` };
  const certFile = tlsCertFile ?? kept?.cert;
  const keyFile = tlsKeyFile ?? kept?.key;
  const there =
    tlsCertFile !== undefined ||
    (kept !== undefined && (await files.exists(kept.cert)) && (await files.exists(kept.key)));
  if (there && certFile !== undefined && keyFile !== undefined)
    return { certPem: await files.readText(certFile), keyPem: await files.readText(keyFile) };
  const making = { crypto, random, nowMs: () => clock.nowMs() };
  const { hostname } = await host.info();
  const authority = await createAuthority(making, `${hostname}-ca`, YEAR_MS);
  const leaf = await issueCertificate(making, authority, {
    commonName: hostname,
    dnsNames: [hostname, 'localhost'],
    ipAddresses: ['127.0.0.1'],
    usages: ['server'],
    validityMs: YEAR_MS,
  });
  const pair = { certPem: leaf.certPem + authority.certPem, keyPem: leaf.keyPem };
  if (kept === undefined) return pair;
  await files.makeDir(certDir, { mode: 0o755 });
  await files.writeFileAtomic(kept.cert, pair.certPem, { mode: 0o644 });
  await files.writeFileAtomic(kept.key, pair.keyPem, { mode: 0o600 });
  return pair;
}

/**
 * The API server as a process of its own, as `keelson apiserver` runs it: over etcd, with the files its flags name.
 * Controllers, scheduler and kubelets are other processes. Upstream: kube-apiserver.
 */
import { createPrivateKey, createPublicKey } from 'node:crypto';
import type { TokenKey } from '../../apiserver/authn/service-account-tokens.ts';
import { errorMessage } from '../../base/errors.ts';
import { FlagError } from '../../component-helpers/command-line/flags.ts';
import type { ApiServerOptions } from '../../apiserver/command-line/list.ts';
import { createAuthority, issueCertificate, type KeyPairPem } from '../../component-helpers/pki/certificates.ts';
import type { HttpServer, SniCertificate } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Store } from '../../storage/store.ts';
import { type ApiServerSetup, loadApiServerSetup } from '../control-plane/api-server-setup.ts';
import type { RenewedAuthorities } from '../control-plane/client-authorities.ts';
import { createControlPlane, type ControlPlane } from '../control-plane/control-plane.ts';
import { consoleOf } from '../console/console-of.ts';
import { hostAddress, servingNames } from '../instance/host-address.ts';
import { deriveInstance, type Instance } from '../instance/instance.ts';
import { kubernetesServiceAddress } from '../network/pod-network.ts';
import { openStore } from '../store/open-store.ts';
import type { ServerSettings } from '../control-plane/server-settings.ts';
import { followServingFiles, servedIdentity, type ServingIdentity } from './serving-files.ts';
import { endpointsProblem } from '../store/store-options.ts';
import { tokenAlgorithmOf } from './token-signer.ts';

/** A process in the making or running. */
export interface ApiServerProcess {
  /** Resolves when requests are served, to the port. Rejects with `FlagError` or `PreflightError`. */
  start(): Promise<number>;
  stop(): Promise<void>;
}

const YEAR_MS = 365 * 86_400_000;

/** Puts it together; nothing runs before `start`. */
export function createApiServerProcess(platform: Platform, options: ApiServerOptions): ApiServerProcess {
  const lifetime = new AbortController();
  let store: Store | undefined;
  let controlPlane: ControlPlane | undefined;
  let serves = false;
  return {
    async start() {
      const { serving } = options;
      const address = serving.advertiseAddress ?? ownAddress(platform, serving.bindAddress);
      const instance = await instanceOf(platform, options);
      const settings = await settingsOf(platform, options);
      const setup = await setupOf(platform, options);
      const tls = await servingPair(platform, options, { instance, address });
      const clientCaPem = await optionalText(platform, serving.clientCaFile);
      const sni = await sniCertificates(platform, options);
      const kubeletCaPem = await optionalText(platform, serving.kubeletCertificateAuthority);
      const { encryptionConfigFile, encryptionReload } = options.etcd;
      store = await openStore(platform, {
        choice: storeChoice(options),
        file: '',
        encryption:
          encryptionConfigFile === undefined ? undefined : { file: encryptionConfigFile, reload: encryptionReload },
      });
      controlPlane = createControlPlane({
        platform,
        store,
        instance,
        hostAddress: address,
        runtimeConfig: serving.runtimeConfig,
        settings,
        setup,
        console: serving.console ? consoleOf(platform) : undefined,
        pki: {
          ca: { certPem: clientCaPem ?? '' },
          // As upstream: kubelets mostly have self-signed certificates.
          kubeletTrust: kubeletCaPem === undefined ? { insecureSkipVerify: true } : { caPem: kubeletCaPem },
          ...(await frontProxy(platform, options)),
          kubeletClient: await kubeletClient(platform, options, tls),
          serviceAccount: { privateKeyPem: '', publicKeyPem: '' }, // The keys are in the settings.
        },
      });
      await controlPlane.start(lifetime.signal);
      const listening = await controlPlane.serve({
        host: serving.bindAddress,
        port: serving.securePort,
        sharesPort: serving.sharesPort,
        tls: {
          ...tls,
          minVersion: serving.tlsMinVersion,
          http2: serving.http2,
          http2MaxStreams: serving.http2MaxStreams || undefined,
          sni,
          ciphers: serving.tlsCiphers,
          clientCaPem,
        },
      });
      serves = true;
      const initial = { pair: tls, clientCaPem, proxyCaPem: setup.extraClientCaPem, sni };
      followFiles(platform, { options, setup, listening, initial, controlPlane }, lifetime.signal);
      return listening.port;
    },
    async stop() {
      if (serves) await controlPlane?.drain();
      lifetime.abort(new Error('the API server is stopping'));
      await controlPlane?.stop();
      await store?.close();
    },
  };
}

interface RunningApiServer {
  readonly options: ApiServerOptions;
  readonly setup: ApiServerSetup;
  readonly listening: HttpServer;
  readonly initial: ServingIdentity;
  readonly controlPlane: Pick<ControlPlane, 'publishAuthorities'>;
}

/** Takes up what is renewed in the files of the serving certificates, and of the clients' and front proxies' authorities. */
function followFiles(
  platform: Platform,
  { options, setup, listening, initial, controlPlane }: RunningApiServer,
  signal: AbortSignal,
): void {
  const {
    tlsCertFile: certFile = '',
    tlsKeyFile: keyFile = '',
    clientCaFile = '',
    sniCertificates: sni,
  } = options.serving;
  const proxyCaFile = options.shared.authentication.requestHeader?.clientCaFile;
  const paths = { certFile, keyFile, clientCaFile, proxyCaFile, sni };
  const identity = servedIdentity(listening, initial);
  let renewed: RenewedAuthorities = {};
  const tell = (more: RenewedAuthorities): void => {
    renewed = { ...renewed, ...more };
    controlPlane.publishAuthorities(renewed);
  };
  const onClientCa = (clientCaPem: string): void => {
    setup.useClientAuthority?.(clientCaPem);
    tell({ clientCaPem });
  };
  const onProxyCa = (proxyCaPem: string): void => {
    setup.useProxyAuthority?.(proxyCaPem);
    tell({ proxyCaPem });
  };
  followServingFiles(platform, { paths, identity, initial, onClientCa, onProxyCa }, signal);
}

async function setupOf(
  platform: Platform,
  { shared, serving, serviceAccounts: { apiAudiences, issuers } }: ApiServerOptions,
): Promise<ApiServerSetup> {
  const setup = await loadApiServerSetup(platform, shared, apiAudiences ?? issuers);
  const { plugins, config } = setup.admission;
  return { ...setup, admission: { plugins, config: { ...config, refusesPrivileged: !serving.allowPrivileged } } };
}

async function sniCertificates(platform: Platform, { serving }: ApiServerOptions): Promise<SniCertificate[]> {
  return Promise.all(
    serving.sniCertificates.map(async ({ certFile, keyFile, names }) => ({
      certPem: await readText(platform, certFile),
      keyPem: await readText(platform, keyFile),
      names,
    })),
  );
}

function storeChoice({ etcd }: ApiServerOptions): Parameters<typeof openStore>[1]['choice'] {
  const problem = endpointsProblem(etcd.servers);
  if (problem !== undefined) throw new FlagError(`--etcd-servers: ${problem}`);
  const { servers, prefix, caFile, certFile, keyFile } = etcd;
  return {
    kind: 'etcd',
    endpoints: servers,
    prefix,
    caFile,
    certFile,
    keyFile,
  };
}

function ownAddress({ net }: Platform, bindAddress: string): string {
  return bindAddress === '0.0.0.0' || bindAddress === '::' ? hostAddress(net.interfaces()) : bindAddress;
}

async function instanceOf({ crypto, host }: Platform, { serving }: ApiServerOptions): Promise<Instance> {
  return deriveInstance(
    {
      dataDir: serving.certDir,
      nodeName: (await host.info()).hostname,
      clusterCidr: '',
      serviceCidr: serving.serviceClusterIpRanges[0]!,
      clusterDomain: 'cluster.local',
      httpsPort: serving.securePort,
    },
    (text) => crypto.sha256Hex(text),
  );
}

async function settingsOf(
  platform: Platform,
  { serviceAccounts, serving, etcd, shared, http }: ApiServerOptions,
): Promise<ServerSettings> {
  const { issuers, apiAudiences, signingKeyFile, keyFiles, jwksUri, bootstrapTokens } = serviceAccounts;
  const { extendsExpiration, lookup, maxExpirationSeconds } = serviceAccounts;
  const lifetimes = { extendsExpiration, lookup, maxExpirationSeconds };
  const signing = await tokenKeys(platform, signingKeyFile, true);
  const verifying = await Promise.all(keyFiles.map((file) => tokenKeys(platform, file, false)));
  return {
    servesJoin: false,
    localPathClass: false,
    ...shared.limits,
    http,
    externalHost: serving.externalHostname,
    compactionPeriodMs: etcd.compactionPeriodMs,
    eventTtlSeconds: etcd.eventTtlSeconds,
    serviceNodePorts: shared.nodePorts,
    serviceClusterIpRanges: serving.serviceClusterIpRanges,
    bootstrapTokens,
    rejectForwardingRedirects: serving.rejectForwardingRedirects,
    kubeletAddressTypes: serving.kubeletAddressTypes,
    tokens: {
      issuers,
      audiences: apiAudiences ?? issuers,
      keys: [...signing, ...verifying.flat()],
      lifetimes,
      jwksUri,
    },
  };
}

async function readText({ files }: Platform, path: string): Promise<string> {
  try {
    return await files.readText(path);
  } catch (error) {
    throw new FlagError(`cannot read ${path}: ${errorMessage(error)}`);
  }
}

async function optionalText(platform: Platform, path: string | undefined): Promise<string | undefined> {
  return path === undefined ? undefined : readText(platform, path);
}

/** The keys of one file: a private one, or any number of either kind. */
async function tokenKeys(platform: Platform, file: string, signs: boolean): Promise<TokenKey[]> {
  const text = await readText(platform, file);
  const blocks = text.match(/-----BEGIN [A-Z ]*KEY-----[\s\S]+?-----END [A-Z ]*KEY-----/g) ?? [];
  if (blocks.length === 0) throw new FlagError(`${file} holds no key in PEM form`);
  return blocks.map((pem) => {
    try {
      const publicKey = createPublicKey(pem);
      const algorithm = tokenAlgorithmOf(publicKey);
      const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' }) as string;
      if (!signs) return { publicKeyPem, algorithm };
      const privateKeyPem = createPrivateKey(pem).export({ type: 'pkcs8', format: 'pem' }) as string;
      return { publicKeyPem, privateKeyPem, algorithm };
    } catch (error) {
      throw new FlagError(`${file}: ${errorMessage(error)}`);
    }
  });
}

/** The serving certificate: the user's, or one made at the first start and kept in `--cert-dir`. */
async function servingPair(
  platform: Platform,
  { serving }: ApiServerOptions,
  { instance, address }: { readonly instance: Instance; readonly address: string },
): Promise<KeyPairPem> {
  const { files, crypto, random, clock } = platform;
  const certFile = serving.tlsCertFile ?? `${serving.certDir}/apiserver.crt`;
  const keyFile = serving.tlsKeyFile ?? `${serving.certDir}/apiserver.key`;
  if (serving.tlsCertFile !== undefined || ((await files.exists(certFile)) && (await files.exists(keyFile))))
    return { certPem: await readText(platform, certFile), keyPem: await readText(platform, keyFile) };
  const deps = { crypto, random, nowMs: () => clock.nowMs() };
  const authority = await createAuthority(deps, `${instance.nodeName}-ca`, YEAR_MS);
  const names = servingNames(instance, [address, '127.0.0.1', kubernetesServiceAddress(instance.serviceCidr)]);
  const leaf = await issueCertificate(deps, authority, {
    commonName: instance.nodeName,
    dnsNames: names.dnsNames,
    ipAddresses: names.ipAddresses,
    usages: ['server'],
    validityMs: YEAR_MS,
  });
  const pair = { certPem: leaf.certPem + authority.certPem, keyPem: leaf.keyPem };
  await files.makeDir(serving.certDir, { mode: 0o755 });
  await files.writeFileAtomic(certFile, pair.certPem, { mode: 0o644 });
  await files.writeFileAtomic(keyFile, pair.keyPem, { mode: 0o600 });
  return pair;
}

/** How aggregated API servers know us; their authority is the one of `--requestheader-client-ca-file`. */
async function frontProxy(
  platform: Platform,
  { serving }: ApiServerOptions,
): Promise<{ readonly frontProxy?: KeyPairPem & { readonly caPem: string } }> {
  const { proxyClientCertificate, proxyClientKey } = serving;
  if (proxyClientCertificate === undefined || proxyClientKey === undefined) return {};
  const [certPem, keyPem] = await Promise.all([
    readText(platform, proxyClientCertificate),
    readText(platform, proxyClientKey),
  ]);
  return { frontProxy: { certPem, keyPem, caPem: '' } };
}

/** Without a client certificate kubelets are shown the serving one, which they refuse: logs and exec need the flags. */
async function kubeletClient(
  platform: Platform,
  { serving }: ApiServerOptions,
  fallback: KeyPairPem,
): Promise<KeyPairPem> {
  const { kubeletClientCertificate, kubeletClientKey } = serving;
  if (kubeletClientCertificate === undefined || kubeletClientKey === undefined) return fallback;
  return {
    certPem: await readText(platform, kubeletClientCertificate),
    keyPem: await readText(platform, kubeletClientKey),
  };
}

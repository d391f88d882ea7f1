/**
 * The API server as a process of its own (`keelson apiserver`), over etcd, with the files in its flags. Controllers,
 * scheduler and kubelets are other processes. Upstream: kube-apiserver.
 */
import { StopParts } from '../stop-parts.ts';
import { FlagError } from '../../component-helpers/command-line/flags.ts';
import type { ApiServerOptions } from '../../apiserver/command-line/list.ts';
import type { HttpServer } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Store } from '../../storage/store.ts';
import { type ApiServerSetup, loadApiServerSetup } from '../control-plane/api-server-setup.ts';
import type { RenewedAuthorities } from '../control-plane/client-authorities.ts';
import { type ControlPlane, createControlPlane } from '../control-plane/control-plane.ts';
import { consoleOf } from '../console/console-of.ts';
import { hostAddress } from '../instance/host-address.ts';
import { deriveInstance, type Instance } from '../instance/instance.ts';
import { openStore } from '../store/open-store.ts';
import type { ServerSettings } from '../control-plane/server-settings.ts';
import { followServingFiles, servedIdentity, type ServingIdentity } from './serving-files.ts';
import { endpointsProblem } from '../store/store-options.ts';
import {
  frontProxy,
  kubeletClient,
  optionalText,
  servingPair,
  sniCertificates,
  tokenKeys,
} from './api-server-files.ts';

/** A process that starts or runs. */
export interface ApiServerProcess {
  /** Resolves to the port when requests are served. Rejects with `FlagError` or `PreflightError`. */
  start(): Promise<number>;
  stop(): Promise<void>;
}

/** Nothing runs before `start`. */
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
          // As upstream, since kubelets mostly have self-signed certificates.
          kubeletTrust: kubeletCaPem === undefined ? { insecureSkipVerify: true } : { caPem: kubeletCaPem },
          ...(await frontProxy(platform, options)),
          kubeletClient: await kubeletClient(platform, options, tls),
          serviceAccount: { privateKeyPem: '', publicKeyPem: '' }, // the keys are in the settings
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
      const parts = new StopParts(platform);
      await parts.wait('control plane', controlPlane?.stop());
      await parts.wait('store', store?.close());
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

/** Reloads the files of the serving certificates, and of the clients' and front proxies' authorities. */
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
  const useRenewed = (more: RenewedAuthorities): void => {
    renewed = { ...renewed, ...more };
    controlPlane.publishAuthorities(renewed);
  };
  const onClientCa = (clientCaPem: string): void => {
    setup.useClientAuthority?.(clientCaPem);
    useRenewed({ clientCaPem });
  };
  const onProxyCa = (proxyCaPem: string): void => {
    setup.useProxyAuthority?.(proxyCaPem);
    useRenewed({ proxyCaPem });
  };
  followServingFiles(platform, { paths, identity, initial, onClientCa, onProxyCa }, signal);
}

async function setupOf(
  platform: Platform,
  { shared, serving, serviceAccounts: { apiAudiences, issuers } }: ApiServerOptions,
): Promise<ApiServerSetup> {
  const server = { audiences: apiAudiences ?? issuers, servesConsole: serving.console };
  const setup = await loadApiServerSetup(platform, shared, server);
  const { plugins, config } = setup.admission;
  return { ...setup, admission: { plugins, config: { ...config, refusesPrivileged: !serving.allowPrivileged } } };
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
    localPath: 'unknown',
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

/**
 * A standalone kubelet: against any API server by kubeconfig, or without one on static pods. It uses the machine's
 * container runtime, whose network is configured there. Upstream: Run and RunKubelet in cmd/kubelet/app/server.go.
 */
import type { TokenRequest } from '../../api/gen/authentication-v1.ts';
import { ServiceAccounts } from '../../api/gen/resources.ts';
import { createCriClient } from '../../cri/cri-client.ts';
import type { CriRuntime } from '../../cri/runtime-service.ts';
import type { KubeletConfigurationV1Beta1 } from '../../kubelet/configuration/fields.ts';
import { settingsOf, type NodeIdentity } from '../../kubelet/configuration/settings.ts';
import type { CredentialProviders } from '../../kubelet/images/credential-providers.ts';
import type { DynamicConfiguration } from '../../kubelet/dynamic-configuration/dynamic-configuration.ts';
import { parseDurationMs } from '../../api/duration.ts';
import { createServiceAccountTokens } from '../../kubelet/volumes/service-account-tokens.ts';
import { createAbsentClient } from '../../client/absent-client.ts';
import type { Platform } from '../../platform/platform.ts';
import { cgroupsByDriver } from './cgroup-driver.ts';
import { createKubeletClients, type KubeletClients } from './kubelet-clients.ts';
import { checkMachine, placeProcess } from '../node/kubelet-checks.ts';
import { startKubeletServers, type KubeletServers } from './kubelet-servers.ts';
import { StopParts } from '../stop-parts.ts';
import { createClusterNode, type ClusterNode } from '../node/node.ts';
import { nodeShutdown } from '../node/node-shutdown.ts';
import { PreflightError } from '../preflight-error.ts';

/** Settings that exist only as flags. */
export interface KubeletProcessOptions {
  readonly identity: Omit<NodeIdentity, 'nodeName'>;
  /** Absent: the kubelet runs without an API server. */
  readonly kubeconfig?: string;
  readonly bootstrapKubeconfig?: string;
  readonly certDir: string;
  readonly hostnameOverride?: string;
  readonly pid: number;
  /** Configuration file and directory of the credential provider programs. */
  readonly credentialProviders?: { readonly config: string; readonly binDir: string };
  /** The source of the configuration, when the node may name another. */
  readonly dynamic?: DynamicConfiguration;
}

export interface KubeletProcess {
  readonly node: ClusterNode;
  /** Ends this process's part; containers keep running. */
  stop(): Promise<void>;
}

/** Checks the machine, then starts everything; resolves when the main loop runs and the servers listen. */
export async function startKubeletProcess(
  platform: Platform,
  options: KubeletProcessOptions,
  config: KubeletConfigurationV1Beta1,
): Promise<KubeletProcess> {
  await checkMachine(platform, config);
  const lifetime = new AbortController();
  try {
    return await startWithin(lifetime, platform, { options, config });
  } catch (error) {
    lifetime.abort(new Error('the kubelet could not start', { cause: error }));
    throw error;
  }
}

/** Starts everything; if one part fails, `lifetime` ends the others. */
async function startWithin(
  lifetime: AbortController,
  platform: Platform,
  { options, config }: { readonly options: KubeletProcessOptions; readonly config: KubeletConfigurationV1Beta1 },
): Promise<KubeletProcess> {
  const { signal } = lifetime;
  const nodeName = await nodeNameOf(platform, options);
  const clients = await clientsOf(platform, { ...options, nodeName, config, signal });
  const cri = criOf(platform, config);
  const settings = settingsOf(config, { ...options.identity, nodeName });
  await platform.files.makeDir(settings.rootDirectory, { mode: 0o750 });
  await platform.files.makeDir(settings.podLogsDir, { mode: 0o750 });
  await placeProcess(platform, config, options.pid);
  const standalone = clients === undefined;
  const credentialProviders = await credentialProvidersOf(platform, options.credentialProviders, clients);
  const client = clients?.client ?? createAbsentClient(platform.clock, 'this kubelet runs without an API server');
  const node = await createClusterNode({
    ...clients,
    platform: { ...platform, cgroups: await cgroupsByDriver({ platform, cri }, config, signal) },
    client,
    cri,
    credentialProviders,
    ...(await nodeShutdown(platform, config, options.pid)),
    config: standalone ? { ...settings, hasApiServer: false, registerNode: false } : settings,
  });
  clients?.start(signal);
  await node.start(signal);
  const servers: KubeletServers = await startKubeletServers(
    { platform, client, node, certDir: options.certDir, hasApiServer: !standalone },
    config,
    signal,
  );
  platform.serviceManager
    .notify('READY=1')
    .catch((error: unknown) => platform.log.warn('Failed to notify systemd that the kubelet is ready', { err: error }));
  if (clients !== undefined) options.dynamic?.follow({ client: clients.client, nodeName }, signal);
  return {
    node,
    async stop() {
      lifetime.abort(new Error('the kubelet is stopping'));
      const parts = new StopParts(platform);
      await parts.wait("the kubelet's servers", servers.stop());
      await parts.wait('kubelet', node.stop());
    },
  };
}

async function nodeNameOf({ host }: Platform, { hostnameOverride }: KubeletProcessOptions): Promise<string> {
  const name = (hostnameOverride ?? (await host.info()).hostname).trim().toLowerCase();
  if (name === '') throw new PreflightError('empty hostname is invalid');
  return name;
}

async function clientsOf(
  platform: Platform,
  options: KubeletProcessOptions & {
    readonly nodeName: string;
    readonly config: KubeletConfigurationV1Beta1;
    readonly signal: AbortSignal;
  },
): Promise<KubeletClients | undefined> {
  const { kubeconfig, bootstrapKubeconfig, certDir, nodeName, config, signal } = options;
  if (kubeconfig === undefined) return undefined;
  const bootstrap = bootstrapKubeconfig === undefined ? {} : { bootstrapKubeconfig };
  return createKubeletClients(platform, { kubeconfig, ...bootstrap, certDir, nodeName, config, signal });
}

async function credentialProvidersOf(
  platform: Platform,
  where: KubeletProcessOptions['credentialProviders'],
  clients: KubeletClients | undefined,
): Promise<CredentialProviders | undefined> {
  if (where === undefined) return undefined;
  const { files, exec, clock, log } = platform;
  const { readCredentialProviders } = await import('../../kubelet/images/credential-provider-config.ts');
  const { createCredentialProviders } = await import('../../kubelet/images/credential-providers.ts');
  const providers = await readCredentialProviders(files, where).catch((error: Error) => {
    throw new PreflightError(`failed to register CRI auth plugins: ${error.message}`);
  });
  const accounts = clients?.client.resource(ServiceAccounts);
  const tokens =
    accounts &&
    createServiceAccountTokens({
      platform,
      requestToken: (namespace, name, request) =>
        accounts.createSubresource<TokenRequest>({ namespace, name }, 'token', request),
    });
  return createCredentialProviders(
    {
      exec,
      clock,
      log,
      accounts: accounts &&
        tokens && {
          get: (namespace, name) => accounts.get({ namespace, name }),
          token: async (namespace, name, request) => (await tokens.get(namespace, name, request)).token,
        },
    },
    { providers, binDir: where.binDir },
  );
}

function criOf({ clock }: Platform, config: KubeletConfigurationV1Beta1): CriRuntime {
  const requestTimeoutMs = parseDurationMs(config.runtimeRequestTimeout) ?? 120_000;
  const runtime = createCriClient({ clock }, { endpoint: config.containerRuntimeEndpoint, requestTimeoutMs });
  if (config.imageServiceEndpoint === '' || config.imageServiceEndpoint === config.containerRuntimeEndpoint)
    return runtime;
  const images = createCriClient({ clock }, { endpoint: config.imageServiceEndpoint, requestTimeoutMs });
  return { ...runtime, images: images.images };
}

const ONCE_RETRIES = 10;
const ONCE_RETRY_DELAY_MS = 1_000;

/** Waits until every pod of the sources runs or has ended, for `--runonce`. @throws Error naming those that do not */
export async function waitForPodsOnce({ node }: KubeletProcess, { clock }: Pick<Platform, 'clock'>): Promise<void> {
  const phases = (): readonly string[] =>
    node.kubelet.host
      .pods()
      .filter(({ status }) => !['Running', 'Succeeded', 'Failed'].includes(status?.phase ?? ''))
      .map(({ metadata }) => `${metadata.name}_${metadata.namespace}`);
  const sourcesReady = node.kubelet.core.sourcesReady;
  for (let attempt = 0; attempt < ONCE_RETRIES; attempt++) {
    for (let beat = 0; beat < 2 ** Math.min(attempt, 4); beat++) {
      if (sourcesReady() && phases().length === 0) return;
      await clock.sleep(ONCE_RETRY_DELAY_MS);
    }
  }
  const late = phases().map(
    (name) => `timeout error: pod "${name}" containers not running after ${ONCE_RETRIES} retries`,
  );
  throw new Error(`error running pods: [${late.join(', ')}]`);
}

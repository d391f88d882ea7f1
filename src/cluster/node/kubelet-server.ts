/** Opens the HTTPS server of a node's kubelet: logs, exec, statistics, health. */
import type { Client } from '../../client/client.ts';
import type { KubeletConfiguration } from '../../kubelet/kubelet-configuration.ts';
import { parseDurationMs } from '../../api/duration.ts';
import type { KubeletConfigurationV1Beta1 } from '../../kubelet/configuration/fields.ts';
import { createDelegatedAuth, type DelegatedAuthConfig } from '../../kubelet/server/delegated-auth.ts';
import type { KubeletAuth } from '../../kubelet/server/kubelet-auth.ts';
import { createKubeletServer } from '../../kubelet/server/kubelet-server.ts';
import type { HttpHandler, HttpServer, ListenOptions } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ClusterNode } from './node.ts';

export interface KubeletServerDeps {
  readonly platform: Platform;
  /** A client with the node's identity, through which the API server authenticates and authorizes callers. */
  readonly client: Client;
  readonly config: Pick<KubeletConfiguration, 'nodeName' | 'rootDirectory' | 'checkpoints' | 'localPathRoot'>;
  readonly port: number;
  /** Default: all addresses. */
  readonly address?: string;
  readonly tls: NonNullable<ListenOptions['tls']>;
  /** Wraps the kubelet's handler. */
  readonly wrap?: (kubelet: HttpHandler) => HttpHandler;
  /** How callers are authenticated and authorized. Default: by the API server. */
  readonly access?: Partial<DelegatedAuthConfig>;
  /** Whether exec, attach, logs and port-forward are served. Default true. */
  readonly debuggingHandlers?: boolean;
  /** Streams are closed after this idle time. Default: four hours. */
  readonly streamIdleTimeoutMs?: number;
  /** Whether the node's own logs are served. Default true. */
  readonly systemLogs?: boolean;
  /** Whether logs of the node's services are served. Default false. */
  readonly systemLogQuery?: boolean;
}

const FOUR_HOURS_MS = 4 * 3_600_000;
/** The machine's log folder, upstream's nodeLogDir. */
const SYSTEM_LOGS = '/var/log';

/** The handlers' settings in a kubelet configuration. */
export function handlerSettings(
  config: KubeletConfigurationV1Beta1,
): Pick<KubeletServerDeps, 'debuggingHandlers' | 'systemLogs' | 'systemLogQuery' | 'streamIdleTimeoutMs'> {
  return {
    debuggingHandlers: config.enableDebuggingHandlers,
    systemLogs: config.enableSystemLogHandler,
    systemLogQuery: config.enableSystemLogQuery,
    streamIdleTimeoutMs: parseDurationMs(config.streamingConnectionIdleTimeout) ?? 0,
  };
}

export function openKubeletServer(deps: KubeletServerDeps, node: ClusterNode): Promise<HttpServer> {
  const { platform, client, config, port, address = '0.0.0.0', tls, access, wrap = (handler) => handler } = deps;
  const auth = createDelegatedAuth(
    { client, platform },
    { nodeName: config.nodeName, anonymous: false, tokenWebhook: true, authorizationMode: 'Webhook', ...access },
  );
  const handler = wrap(kubeletHandler(deps, { node, auth, removes: true }));
  return platform.listenHttp({ host: address, port, tls }, handler);
}

/** Opens the read-only server: plain HTTP without authentication, for reading only. */
export function openReadOnlyServer(
  deps: Omit<KubeletServerDeps, 'tls' | 'client'>,
  node: ClusterNode,
): Promise<HttpServer> {
  const anyone: KubeletAuth = {
    authenticate: async () => ({ name: 'read-only', groups: [] }),
    authorize: async () => true,
  };
  const handler = kubeletHandler(
    { ...deps, debuggingHandlers: false, systemLogs: false },
    { node, auth: anyone, removes: false },
  );
  return deps.platform.listenHttp({ host: deps.address ?? '0.0.0.0', port: deps.port }, handler);
}

function kubeletHandler(
  {
    platform,
    config,
    debuggingHandlers,
    systemLogs = true,
    systemLogQuery = false,
    streamIdleTimeoutMs = FOUR_HOURS_MS,
  }: Omit<KubeletServerDeps, 'tls' | 'client'>,
  input: { node: ClusterNode; auth: KubeletAuth; removes: boolean },
): HttpHandler {
  const { kubelet } = input.node;
  return createKubeletServer({
    host: kubelet.host,
    runtime: kubelet.runtime,
    auth: input.auth,
    checkpointDirectory: config.checkpoints ? `${config.rootDirectory}/checkpoints` : undefined,
    readOnly: !input.removes,
    localPathRoot: input.removes && config.localPathRoot !== '' ? config.localPathRoot : undefined,
    platform,
    streamIdleTimeoutMs,
    debuggingHandlers,
    ...(systemLogs ? { systemLogDirectory: SYSTEM_LOGS, systemLogQuery } : {}),
    stats: input.node.stats,
    probeMetrics: async () =>
      (await platform.metrics.expose())
        .split('\n')
        .filter((line) => /prober_/.test(line))
        .join('\n'),
  });
}

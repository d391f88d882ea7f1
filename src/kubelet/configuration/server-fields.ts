/** Fields about the kubelet's process: its server, clients, pod sources and logs. */
import { TLS_VERSIONS } from '../../component-helpers/tls-names.ts';
import type { FieldTable } from './field-table.ts';

const BOOL = 'bool';
const AUTHENTICATION = {
  x509: {
    type: {
      of: {
        clientCAFile: { type: 'string', flag: 'client-ca-file', state: 'honoured', note: 'a changed file is taken up' },
      },
    },
    state: 'honoured',
    note: '',
  },
  webhook: {
    type: {
      of: {
        enabled: { type: BOOL, default: true, flag: 'authentication-token-webhook', state: 'honoured', note: '' },
        cacheTTL: {
          type: 'duration',
          default: '2m0s',
          flag: 'authentication-token-webhook-cache-ttl',
          state: 'honoured',
          note: '',
        },
      },
    },
    state: 'honoured',
    note: '',
  },
  anonymous: {
    type: { of: { enabled: { type: BOOL, flag: 'anonymous-auth', state: 'honoured', note: '' } } },
    state: 'honoured',
    note: '',
  },
} as const satisfies FieldTable;

const AUTHORIZATION = {
  mode: { type: 'string', default: 'Webhook', flag: 'authorization-mode', state: 'honoured', note: '' },
  webhook: {
    type: {
      of: {
        cacheAuthorizedTTL: {
          type: 'duration',
          default: '5m0s',
          flag: 'authorization-webhook-cache-authorized-ttl',
          state: 'honoured',
          note: '',
        },
        cacheUnauthorizedTTL: {
          type: 'duration',
          default: '30s',
          flag: 'authorization-webhook-cache-unauthorized-ttl',
          state: 'honoured',
          note: '',
        },
      },
    },
    state: 'honoured',
    note: '',
  },
} as const satisfies FieldTable;

const NESTED = { state: 'in part', note: '' } as const;
const LOGGING_OPTIONS = {
  splitStream: { type: 'bool', state: 'refused', note: 'all lines go to the error output' },
  infoBufferSize: { type: 'string', default: '0', state: 'no effect', note: 'log lines are written at once' },
} as const satisfies FieldTable;

const logging = {
  format: {
    type: 'string',
    default: 'text',
    flag: 'logging-format',
    state: 'refused',
    note: 'log lines have one format',
  },
  flushFrequency: { type: 'timeOrDuration', default: '5s', state: 'no effect', note: 'log lines are written at once' },
  verbosity: { type: 'int', flag: 'v', state: 'honoured', note: '4 and above writes debug lines' },
  vmodule: { type: 'string', flag: 'vmodule', state: 'refused', note: 'verbosity per module is not supported' },
  options: {
    type: {
      of: { text: { type: { of: LOGGING_OPTIONS }, ...NESTED }, json: { type: { of: LOGGING_OPTIONS }, ...NESTED } },
    },
    ...NESTED,
  },
} as const satisfies FieldTable;

export const SERVER_FIELDS = {
  enableServer: { type: BOOL, default: true, flag: 'enable-server', state: 'honoured', note: '' },
  address: { type: 'string', default: '0.0.0.0', flag: 'address', state: 'honoured', note: '' },
  port: { type: 'int', default: 10_250, flag: 'port', state: 'honoured', note: '' },
  readOnlyPort: {
    type: 'int',
    flag: 'read-only-port',
    state: 'honoured',
    note: 'pods, stats, metrics and health without authentication',
  },
  tlsCertFile: { type: 'string', flag: 'tls-cert-file', state: 'honoured', note: 'a changed file is taken up' },
  tlsPrivateKeyFile: { type: 'string', flag: 'tls-private-key-file', state: 'honoured', note: '' },
  tlsCipherSuites: {
    type: 'strings',
    flag: 'tls-cipher-suites',
    state: 'honoured',
    note: 'by the names of their standard; none given: those of OpenSSL',
  },
  tlsMinVersion: {
    type: 'string',
    flag: 'tls-min-version',
    accepts: Object.keys(TLS_VERSIONS),
    state: 'in part',
    note: 'earlier versions than TLS 1.2, the default, are not offered',
  },
  rotateCertificates: {
    type: BOOL,
    flag: 'rotate-certificates',
    state: 'honoured',
    note: 'for a kubeconfig made by TLS bootstrap',
  },
  serverTLSBootstrap: {
    type: BOOL,
    flag: 'rotate-server-certificates',
    state: 'honoured',
    note: 'the request must be approved, as upstream',
  },
  authentication: { type: { of: AUTHENTICATION }, state: 'honoured', note: '' },
  authorization: { type: { of: AUTHORIZATION }, state: 'honoured', note: '' },
  enableDebuggingHandlers: {
    type: BOOL,
    default: true,
    flag: 'enable-debugging-handlers',
    state: 'honoured',
    note: '',
  },
  enableContentionProfiling: {
    type: BOOL,
    flag: 'contention-profiling',
    state: 'refused',
    note: 'there are no locks to profile',
  },
  enableProfilingHandler: { type: BOOL, state: 'refused', note: 'profiles are not served (upstream: true)' },
  enableDebugFlagsHandler: { type: BOOL, state: 'refused', note: 'flags are not served (upstream: true)' },
  enableSystemLogHandler: { type: BOOL, default: true, state: 'honoured', note: 'files below /var/log' },
  enableSystemLogQuery: {
    type: BOOL,
    state: 'honoured',
    note: "`/logs/?query=`: logs of the node's services by journalctl, or their files below /var/log",
  },
  healthzPort: { type: 'int', default: 10_248, flag: 'healthz-port', state: 'honoured', note: '0 serves none' },
  healthzBindAddress: {
    type: 'string',
    default: '127.0.0.1',
    flag: 'healthz-bind-address',
    state: 'honoured',
    note: '',
  },
  streamingConnectionIdleTimeout: {
    type: 'duration',
    default: '4h0m0s',
    flag: 'streaming-connection-idle-timeout',
    state: 'in part',
    note: "exec, attach and port-forward through which nothing passes for so long are closed; clients' pings count",
  },
  staticPodPath: { type: 'string', flag: 'pod-manifest-path', state: 'honoured', note: '' },
  staticPodURL: { type: 'string', flag: 'manifest-url', state: 'honoured', note: '' },
  staticPodURLHeader: { type: 'headers', flag: 'manifest-url-header', state: 'honoured', note: '' },
  podLogsDir: { type: 'string', default: '/var/log/pods', flag: 'pod-logs-dir', state: 'honoured', note: '' },
  syncFrequency: { type: 'duration', default: '1m0s', flag: 'sync-frequency', state: 'honoured', note: '' },
  fileCheckFrequency: {
    type: 'duration',
    default: '20s',
    flag: 'file-check-frequency',
    state: 'honoured',
    note: 'and at once on change',
  },
  httpCheckFrequency: { type: 'duration', default: '20s', flag: 'http-check-frequency', state: 'honoured', note: '' },
  contentType: {
    type: 'string',
    default: 'application/json',
    flag: 'kube-api-content-type',
    accepts: ['application/vnd.kubernetes.protobuf'],
    state: 'no effect',
    note: 'JSON is sent whatever it says: every server takes it',
  },
  kubeAPIQPS: { type: 'int', default: 50, flag: 'kube-api-qps', state: 'honoured', note: 'negative: no limit' },
  kubeAPIBurst: { type: 'int', default: 100, flag: 'kube-api-burst', state: 'honoured', note: '' },
  eventRecordQPS: { type: 'int', default: 50, flag: 'event-qps', state: 'honoured', note: '0: no limit' },
  eventBurst: { type: 'int', default: 100, flag: 'event-burst', state: 'honoured', note: '' },
  featureGates: { type: 'flags', flag: 'feature-gates', state: 'honoured', note: 'see below' },
  logging: { type: { of: logging }, state: 'in part', note: '' },
  showHiddenMetricsForVersion: {
    type: 'string',
    flag: 'show-hidden-metrics-for-version',
    state: 'refused',
    note: 'no metric is hidden',
  },
  tracing: {
    type: {
      of: {
        endpoint: {
          type: 'string',
          state: 'in part',
          note: 'of OTLP over gRPC without TLS: `host:port`, `dns:` or `unix:`; `unix-abstract:` is refused; default localhost:4317',
        },
        samplingRatePerMillion: { type: 'int', state: 'honoured', note: 'syncs of pods that are traced; 0: none' },
      },
    },
    state: 'in part',
    note: 'see [tracing](tracing.md)',
  },
  oomScoreAdj: {
    type: 'int',
    default: -999,
    flag: 'oom-score-adj',
    state: 'honoured',
    note: 'a failure (no CAP_SYS_RESOURCE) is logged, as upstream',
  },
  maxOpenFiles: {
    type: 'int',
    default: 1_000_000,
    flag: 'max-open-files',
    state: 'refused',
    note: 'the limit is inherited; set it with ulimit or LimitNOFILE',
  },
  runOnce: { type: BOOL, flag: 'runonce', state: 'honoured', note: 'standalone only, as upstream' },
} as const satisfies FieldTable;

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { getCiphers } from 'node:tls';
import { defined } from '../../base/defined-fixture.ts';
import { FlagError } from '../../component-helpers/command-line/flags.ts';
import { parseApiServerOptions } from './list.ts';

const needed = [
  '--etcd-servers=https://a:2379,https://b:2379',
  '--service-account-issuer=https://i',
  '--service-account-signing-key-file=/sa.key',
];

test('flags as Go reads them', () => {
  const options = parseApiServerOptions([
    ...needed,
    '--etcd_prefix',
    'other/',
    '--secure-port=7443',
    '--anonymous-auth=F',
    '--authorization-mode=Node,RBAC',
    '--service-account-issuer',
    'https://old',
    '--event-ttl=90m',
    '--service-node-port-range=20000+99',
    '--runtime-config=api/beta=true',
    '--runtime-config=v1=true',
    '--service-cluster-ip-range=10.0.0.0/24,fd00::/112',
    '--v=4',
  ]);
  assert.deepEqual(options.etcd.servers, ['https://a:2379', 'https://b:2379']);
  assert.deepEqual([options.etcd.prefix, options.etcd.eventTtlSeconds], ['/other', 5400]);
  assert.deepEqual([options.serving.securePort, options.serving.runtimeConfig], [7443, 'api/beta=true,v1=true']);
  assert.deepEqual(options.shared.nodePorts, { first: 20000, last: 20099 });
  assert.deepEqual(options.shared.authorization.modes, ['Node', 'RBAC']);
  assert.deepEqual(options.serviceAccounts.issuers, ['https://i', 'https://old']);
  assert.deepEqual(
    [options.shared.authentication.anonymous, options.log.level, options.warnings],
    [false, 'debug', []],
  );
});

test('without flags upstream has other values than those needed', () => {
  const { etcd, serving, shared } = parseApiServerOptions(needed);
  assert.deepEqual([etcd.prefix, etcd.eventTtlSeconds, etcd.compactionPeriodMs], ['/registry', 3600, 300_000]);
  assert.deepEqual(
    [serving.securePort, serving.certDir, serving.bindAddress],
    [6443, '/var/run/kubernetes', '0.0.0.0'],
  );
  assert.deepEqual(shared.authorization.modes, ['AlwaysAllow']);
});

test('an empty list equals an absent flag where there is a default', () => {
  const { serving } = parseApiServerOptions([
    ...needed,
    ...['--tls-cipher-suites=', '--kubelet-preferred-address-types='],
  ]);
  assert.deepEqual([serving.tlsCiphers, serving.kubeletAddressTypes], [undefined, undefined]);
});

test('settings of hardening guides', () => {
  const { serving, shared, warnings } = parseApiServerOptions([
    ...needed,
    ...['--profiling=false', '--anonymous-auth=false', '--service-account-lookup=true', '--request-timeout=300s'],
    ...['--tls-min-version=VersionTLS13', '--audit-log-path=/var/log/a', '--audit-log-maxage=30'],
    ...['--audit-log-maxbackup=10', '--audit-log-maxsize=100', '--audit-policy-file=/p', '--allow-privileged'],
    '--tls-cipher-suites=TLS_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256',
    '--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,TLS_RSA_WITH_AES_256_GCM_SHA384',
    ...['--default-not-ready-toleration-seconds=60', '--endpoint-reconciler-type=lease'],
  ]);
  assert.deepEqual(warnings, []);
  assert.equal(serving.tlsMinVersion, 'TLSv1.3');
  assert.deepEqual(serving.tlsCiphers, [
    'TLS_AES_128_GCM_SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-RSA-CHACHA20-POLY1305',
    'ECDHE-RSA-AES128-SHA',
    'AES256-GCM-SHA384',
  ]);
  const known = new Set(getCiphers().map((name) => name.toUpperCase()));
  assert.deepEqual(
    serving.tlsCiphers?.filter((name) => !known.has(name)),
    [],
  );
  assert.equal(shared.limits.requestTimeoutMs, 300_000);
  assert.deepEqual(shared.admission.tolerationSeconds, { notReady: 60, unreachable: 300 });
});

test("kubeadm's command line", () => {
  const pki = '/etc/kubernetes/pki';
  const { serviceAccounts, serving, shared, warnings } = parseApiServerOptions([
    '--advertise-address=192.168.0.10',
    '--allow-privileged=true',
    '--authorization-mode=Node,RBAC',
    `--client-ca-file=${pki}/ca.crt`,
    '--enable-admission-plugins=NodeRestriction',
    '--enable-bootstrap-token-auth=true',
    `--etcd-cafile=${pki}/etcd/ca.crt`,
    `--etcd-certfile=${pki}/apiserver-etcd-client.crt`,
    `--etcd-keyfile=${pki}/apiserver-etcd-client.key`,
    '--etcd-servers=https://127.0.0.1:2379',
    `--kubelet-client-certificate=${pki}/apiserver-kubelet-client.crt`,
    `--kubelet-client-key=${pki}/apiserver-kubelet-client.key`,
    '--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname',
    `--proxy-client-cert-file=${pki}/front-proxy-client.crt`,
    `--proxy-client-key-file=${pki}/front-proxy-client.key`,
    '--requestheader-allowed-names=front-proxy-client',
    `--requestheader-client-ca-file=${pki}/front-proxy-ca.crt`,
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-username-headers=X-Remote-User',
    '--secure-port=6443',
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${pki}/sa.pub`,
    `--service-account-signing-key-file=${pki}/sa.key`,
    '--service-cluster-ip-range=10.96.0.0/12',
    `--tls-cert-file=${pki}/apiserver.crt`,
    `--tls-private-key-file=${pki}/apiserver.key`,
  ]);
  assert.deepEqual(warnings, []);
  assert.deepEqual([serviceAccounts.bootstrapTokens, serviceAccounts.lookup], [true, true]);
  assert.deepEqual(serving.kubeletAddressTypes, ['InternalIP', 'ExternalIP', 'Hostname']);
  assert.deepEqual(
    [serving.proxyClientCertificate, serving.proxyClientKey],
    [`${pki}/front-proxy-client.crt`, `${pki}/front-proxy-client.key`],
  );
  assert.deepEqual(shared.authentication.requestHeader?.allowedNames, ['front-proxy-client']);
});

/** Upstream's defaults of v1.36, spelled out: copying them from its reference must change nothing. */
const upstreamDefaults = [
  'advertise-address=10.0.0.1 aggregator-reject-forwarding-redirect=true allow-metric-labels= anonymous-auth=true',
  'allow-metric-labels-manifest= allow-privileged=false apiserver-count=1 audit-log-batch-buffer-size=10000',
  'audit-log-batch-max-size=1 audit-log-batch-max-wait=0s audit-log-batch-throttle-burst=0 audit-log-compress=false',
  'audit-log-batch-throttle-enable=false audit-log-batch-throttle-qps=0 audit-log-format=json audit-log-maxage=0',
  'audit-log-maxbackup=0 audit-log-maxsize=0 audit-log-mode=blocking audit-log-truncate-enabled=false',
  'audit-log-truncate-max-batch-size=10485760 audit-log-truncate-max-event-size=102400',
  'audit-log-version=audit.k8s.io/v1 audit-webhook-batch-buffer-size=10000 audit-webhook-batch-max-size=400',
  'audit-webhook-batch-max-wait=30s audit-webhook-batch-throttle-burst=15 audit-webhook-batch-throttle-enable=true',
  'audit-webhook-batch-throttle-qps=10 audit-webhook-initial-backoff=10s audit-webhook-mode=batch',
  'audit-webhook-truncate-enabled=false audit-webhook-truncate-max-batch-size=10485760',
  'audit-webhook-truncate-max-event-size=102400 audit-webhook-version=audit.k8s.io/v1',
  'authentication-token-webhook-cache-ttl=2m0s authentication-token-webhook-version=v1beta1',
  'authorization-mode=AlwaysAllow authorization-webhook-cache-authorized-ttl=5m0s',
  'authorization-webhook-cache-unauthorized-ttl=30s authorization-webhook-version=v1beta1 bind-address=0.0.0.0',
  'cert-dir=/var/run/kubernetes contention-profiling=false coordinated-leadership-lease-duration=15s',
  'coordinated-leadership-renew-deadline=10s coordinated-leadership-retry-period=2s cors-allowed-origins=',
  'debug-socket-path= default-not-ready-toleration-seconds=300 default-unreachable-toleration-seconds=300',
  'default-watch-cache-size=100 delete-collection-workers=1 disable-admission-plugins= disable-http2-serving=false',
  'disabled-metrics= egress-selector-config-file= emulated-version=1.36 emulation-forward-compatible=false',
  'enable-admission-plugins= enable-aggregator-routing=false enable-bootstrap-token-auth=false',
  'enable-garbage-collector=true enable-priority-and-fairness=true encryption-provider-config-automatic-reload=false',
  'endpoint-reconciler-type=lease etcd-compaction-interval=5m0s etcd-count-metric-poll-period=1m0s',
  'etcd-db-metric-poll-interval=30s etcd-healthcheck-timeout=2s etcd-prefix=/registry etcd-readycheck-timeout=2s',
  'etcd-servers-overrides= event-ttl=1h0m0s feature-gates= goaway-chance=0 http2-max-streams-per-connection=0',
  'kubelet-port=10250 kubelet-preferred-address-types=Hostname,InternalDNS,InternalIP,ExternalDNS,ExternalIP',
  'kubelet-read-only-port=10255 kubelet-timeout=5s lease-reuse-duration-seconds=60 livez-grace-period=0s',
  'log-flush-frequency=5s log-json-info-buffer-size=0 log-json-split-stream=false log-text-info-buffer-size=0',
  'log-text-split-stream=false logging-format=text max-connection-bytes-per-sec=0 max-mutating-requests-inflight=200',
  'max-requests-inflight=400 min-compatibility-version=1.35 min-request-timeout=1800 oidc-signing-algs=RS256',
  'oidc-username-claim=sub peer-advertise-ip= peer-advertise-port= peer-ca-file= permit-address-sharing=false',
  'permit-port-sharing=false request-timeout=1m0s requestheader-allowed-names= runtime-config=',
  'requestheader-extra-headers-prefix=x-remote-extra- requestheader-group-headers=x-remote-group',
  'requestheader-username-headers=x-remote-user runtime-config-emulation-forward-compatible=false secure-port=6443',
  'service-account-extend-token-expiration=true service-account-lookup=true service-account-max-token-expiration=0s',
  'service-account-signing-endpoint= service-cluster-ip-range=10.0.0.0/24 service-node-port-range=30000-32767',
  'show-hidden-metrics-for-version= shutdown-delay-duration=0s shutdown-send-retry-after=false',
  'shutdown-watch-termination-grace-period=0s storage-backend=etcd3 storage-initialization-timeout=1m0s',
  'strict-transport-security-directives= tls-min-version=VersionTLS12 tracing-config-file= v=0 vmodule=',
  'watch-cache=true watch-cache-sizes= identity-lease-duration-seconds=3600 identity-lease-renew-interval-seconds=10',
].flatMap((line) => line.split(' ').map((flag) => `--${flag}`));

test("upstream's defaults, spelled out, equal absent flags", () => {
  const said = parseApiServerOptions([...needed, ...upstreamDefaults]);
  const unsaid = parseApiServerOptions(needed);
  const { log, serving, ...rest } = said;
  assert.deepEqual(rest, restOf(unsaid));
  assert.deepEqual(log, { level: 'info', format: 'text' });
  const { advertiseAddress, kubeletAddressTypes, ...usual } = serving;
  assert.deepEqual(defined(usual), defined(unsaid.serving));
  assert.deepEqual([advertiseAddress, kubeletAddressTypes?.length], ['10.0.0.1', 5]);
});

function restOf({ log: _log, serving: _serving, ...rest }: ReturnType<typeof parseApiServerOptions>): object {
  return rest;
}

test('flags that promise more than Keelson does are accepted, with a warning', () => {
  const { warnings } = parseApiServerOptions([
    ...needed,
    '--profiling=true',
    '--enable-logs-handler=true',
    '--storage-media-type=application/vnd.kubernetes.protobuf',
  ]);
  assert.deepEqual(
    warnings.map((text) => text.split(':')[0]),
    ['--profiling=true', '--enable-logs-handler=true', '--storage-media-type=application/vnd.kubernetes.protobuf'],
  );
});

test('connections, streams, names and the end', () => {
  const { serving, http } = parseApiServerOptions([
    ...needed,
    '--tls-sni-cert-key=/a.crt,/a.key',
    '--tls-sni-cert-key',
    '/b.crt,/b.key:*.Example.com,example.com',
    ...['--disable-http2-serving', '--http2-max-streams-per-connection=50', '--permit-port-sharing'],
    ...[
      '--external-hostname=api.example.com',
      '--allow-privileged',
      '--goaway-chance=.001',
      '--aggregator-reject-forwarding-redirect=false',
      '--min-request-timeout=60',
    ],
    '--cors-allowed-origins=^https://a\\.example$,//b\\.example(:|$)',
    '--strict-transport-security-directives=max-age=31536000,includeSubDomains',
    ...['--shutdown-delay-duration=70s', '--shutdown-send-retry-after', '-v=2'],
  ]);
  assert.deepEqual(serving.sniCertificates, [
    { certFile: '/a.crt', keyFile: '/a.key', names: [] },
    { certFile: '/b.crt', keyFile: '/b.key', names: ['*.example.com', 'example.com'] },
  ]);
  assert.deepEqual([serving.http2, serving.http2MaxStreams, serving.sharesPort], [false, 50, true]);
  assert.deepEqual([serving.externalHostname, serving.allowPrivileged], ['api.example.com', true]);
  assert.equal(serving.rejectForwardingRedirects, false);
  assert.deepEqual(http, {
    corsAllowedOrigins: ['^https://a\\.example$', '//b\\.example(:|$)'],
    strictTransportSecurity: ['max-age=31536000', 'includeSubDomains'],
    goawayChance: 0.001,
    minRequestTimeoutMs: 60_000,
    shutdownDelayMs: 70_000,
    shutdownSendRetryAfter: true,
    shutdownWatchGraceMs: 0,
  });
});

test('authorization by file, no priority and fairness', () => {
  const { shared } = parseApiServerOptions([
    ...needed,
    '--authorization-config=/a.yaml',
    '--enable-priority-and-fairness=false',
  ]);
  assert.deepEqual([shared.authorization.modes, shared.authorization.configFile], [[], '/a.yaml']);
  assert.equal(shared.limits.priorityAndFairness, false);
  assert.equal(parseApiServerOptions(needed).shared.limits.priorityAndFairness, true);
});

test('a deprecated flag works and names its replacement', () => {
  const { shared, warnings } = parseApiServerOptions([...needed, '--admission-control=NamespaceLifecycle,LimitRanger']);
  assert.deepEqual(shared.admission.plugins, ['NamespaceLifecycle', 'LimitRanger']);
  assert.match(warnings.join(), /^Flag --admission-control has been deprecated, Use --enable-admission-plugins or/);
});

describe('wrong usage', () => {
  const cases: readonly [readonly string[], RegExp][] = [
    [[], /--service-account-issuer is a required flag/],
    [['--portal-net=10.0.0.0/16'], /^--portal-net is a flag of an early release: use --service-cluster-ip-range$/],
    [['--portal_net', '10.0.0.0/16'], /use --service-cluster-ip-range$/],
    [['--insecure-port=8080'], /use --secure-port/],
    [['--etcd-severs=x'], /^unknown flag: --etcd-severs; did you mean --etcd-servers\?$/],
    [['--quite-different-thing'], /^unknown flag: --quite-different-thing$/],
    [['--constructor=1'], /^unknown flag: --constructor/],
    [['x'], /unexpected argument "x"/],
    [['--secure-port'], /flag needs an argument: --secure-port/],
    [['--secure-port=0'], /invalid argument "0" for "--secure-port" flag: it must be between 1 and 65535/],
    [['--anonymous-auth=maybe'], /neither true nor false/],
    [['--authorization-mode=ABAC'], /ABAC is not a valid mode; there are Node, RBAC, Webhook/],
    [['--authorization-mode=RBAC,RBAC'], /mode specified more than once/],
    [['--tls-cert-file=a'], /--tls-cert-file and --tls-private-key-file go together/],
    [['--endpoint-reconciler-type=none'], /^--endpoint-reconciler-type=none: servers find one another by leases$/],
    [['--contention-profiling'], /^--contention-profiling=true: there are no locks to profile$/],
    [['--egress-selector-config-file=/e'], /the servers reach nodes and webhooks directly$/],
    [['--etcd-servers-overrides=/events#http://e:1'], /all resources are kept in the servers of --etcd-servers$/],
    [['--max-connection-bytes-per-sec=1'], /connections are not throttled$/],
    [['--emulated-version=1.35'], /only version 1.36 is served$/],
    [['--audit-log-compress'], /old files are kept as they are$/],
    [['--audit-log-mode=later'], /--audit-log-mode: later is none of blocking, blocking-strict, batch/],
    [['--audit-webhook-batch-throttle-qps=0'], /needs a positive --audit-webhook-batch-throttle-qps/],
    [['--authorization-webhook-version=v2'], /v2 is none of v1beta1, v1/],
    [['--logging-format=xml'], /Unsupported log format "xml"/],
    [['--v=loud'], /invalid argument "loud" for "-v, --v" flag/],
    [['--tls-sni-cert-key=a.crt'], /expected comma separated certificate and key file paths/],
    [['--goaway-chance=0.1'], /can not be less than 0 or greater than 0.02/],
    [['--cors-allowed-origins=example.com'], /must pin the start of the host name/],
    [['--cors-allowed-origins=//example.com'], /must pin the end of the host name/],
    [['--cors-allowed-origins=^($'], /--cors-allowed-origins has an invalid value "\^\(\$"/],
    [['--strict-transport-security-directives=always'], /allowed values: max-age=expireTime/],
    [['--shutdown-delay-duration=-1s'], /--shutdown-delay-duration can not be negative value/],
    [['--http2-max-streams-per-connection=-1'], /must be between 0 and/],
    [['--tls-min-version=VersionTLS10'], /VersionTLS10 is not offered/],
    [['--tls-cipher-suites=RC4'], /Cipher suite RC4 not supported or doesn't exist/],
    [['--request-timeout=0'], /--request-timeout: can not be negative or zero/],
    [['--proxy-client-cert-file=a'], /--proxy-client-cert-file and --proxy-client-key-file go together/],
    [['--kubelet-preferred-address-types=Hostname,IP'], /IP is none of Hostname, InternalDNS/],
    [['--service-account-jwks-uri=http://k'], /requires an https URL, got "http:\/\/k"/],
    [['--service-account-max-token-expiration=5m'], /must be between 1h0m0s and 2\^32 seconds/],
    [['--event-ttl=soon'], /it is no duration/],
    [['--storage-backend=etcd2'], /allowed values: etcd3/],
    [['--service-cluster-ip-range=10.0.0.0/24,10.1.0.0/24'], /must be of different IP family/],
    [['--service-node-port-range=9-8'], /no port range/],
    [['--advertise-address=host'], /failed to parse IP/],
    [['--admission-control=Priority', '--disable-admission-plugins=PodSecurity'], /mutually exclusive/],
    [['--disable-admission-plugins=A'], /plugin "A" is unknown/],
    [['--authorization-mode=Webhook'], /authorization-webhook-config-file/],
    [['--oidc-issuer-url=http://i'], /--oidc-/],
    [['--feature-gates=A'], /neither true nor false/],
    [['--encryption-provider-config-automatic-reload'], /must be set with --encryption-provider-config/],
  ];
  for (const [args, message] of cases) {
    test(args.join(' ') || 'nothing', () => {
      const all = args.length === 0 ? ['--etcd-servers=http://a:1'] : [...needed, ...args];
      assert.throws(
        () => parseApiServerOptions(all),
        (error) => error instanceof FlagError && message.test(error.message),
      );
    });
  }
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FlagError } from './flags.ts';
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
  assert.deepEqual([options.shared.authentication.anonymous, options.logLevel, options.warnings], [false, 'debug', []]);
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

test('a deprecated flag works and says what to use', () => {
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
    [['--allow-privileged=false'], /--allow-privileged=false: use Pod Security admission/],
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

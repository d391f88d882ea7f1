/** Command lines of upstream's components as its installers write them, and its defaults spelled out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fixedOptions, type FixedFlags } from '../component-helpers/command-line/fixed-flags.ts';
import { type Flag, FlagError, parseFlags } from '../component-helpers/command-line/flags.ts';
import { readComponentFlags, rawOptions } from './component-command.ts';
import {
  controllerFlags,
  controllerManagerFixedFlags,
  controllerManagerFlags,
  controllerManagerServing,
} from './controller-manager-flags.ts';
import { parseControllerManagerOptions, type RawControllerManagerOptions } from './controller-manager-options.ts';
import { collectFlags } from './kubelet-flags.ts';
import { proxyFixedFlags, proxyFlags, proxySettings } from './proxy-flags.ts';
import { schedulerFixedFlags, schedulerFlags, schedulerServing, schedulingFlags } from './scheduler-flags.ts';
import { UserError } from './usage-error.ts';

const usual = {
  controllers: ['*'],
  leaderElectLeaseDuration: '15s',
  leaderElectRenewDeadline: '10s',
  leaderElectRetryPeriod: '2s',
  nodeMonitorGracePeriod: '50s',
  nodeMonitorPeriod: '5s',
  terminatedPodGcThreshold: '12500',
  port: '0',
} as Partial<RawControllerManagerOptions> as RawControllerManagerOptions;

function controllerManager(args: readonly string[]) {
  const values = readComponentFlags(args, controllerManagerFlags, controllerManagerFixedFlags);
  const options = parseControllerManagerOptions(rawOptions(values, controllerFlags, usual));
  return { options, serving: controllerManagerServing.read(values) };
}

test("kubeadm's command line of the controller manager is accepted", () => {
  const conf = '/etc/kubernetes/controller-manager.conf';
  const pki = '/etc/kubernetes/pki';
  const { options, serving } = controllerManager([
    '--allocate-node-cidrs=true',
    `--authentication-kubeconfig=${conf}`,
    `--authorization-kubeconfig=${conf}`,
    '--bind-address=127.0.0.1',
    `--client-ca-file=${pki}/ca.crt`,
    '--cluster-cidr=10.244.0.0/16',
    '--cluster-name=kubernetes',
    `--cluster-signing-cert-file=${pki}/ca.crt`,
    `--cluster-signing-key-file=${pki}/ca.key`,
    '--controllers=*,bootstrapsigner',
    '--controllers=tokencleaner',
    `--kubeconfig=${conf}`,
    '--leader-elect=true',
    `--requestheader-client-ca-file=${pki}/front-proxy-ca.crt`,
    `--root-ca-file=${pki}/ca.crt`,
    `--service-account-private-key-file=${pki}/sa.key`,
    '--service-cluster-ip-range=10.96.0.0/12',
    '--use-service-account-credentials=true',
  ]);
  assert.equal(options.kubeconfig, conf);
  assert.deepEqual(options.controllers.clusterCidrs, ['10.244.0.0/16']);
  assert.deepEqual(options.controllers.serviceCidrs, ['10.96.0.0/12']);
  assert.ok(options.names.includes('deployment-controller') && options.names.includes('token-cleaner-controller'));
  assert.ok(options.leaderElection !== undefined);
  assert.deepEqual([serving.bindAddress, serving.securePort], ['127.0.0.1', 10_257]);
  assert.deepEqual([serving.authenticationKubeconfig, serving.clientCaFile], [conf, `${pki}/ca.crt`]);
  assert.deepEqual(serving.alwaysAllowPaths, ['/healthz', '/readyz', '/livez']);
});

const split = (lines: readonly string[]): string[] =>
  lines.flatMap((line) => line.split(' ').map((flag) => `--${flag}`));

const commonDefaults = [
  'allow-metric-labels= contention-profiling=false disabled-metrics= emulated-version=1.36 feature-gates= vmodule=',
  'log-flush-frequency=5s log-json-info-buffer-size=0 log-json-split-stream=false log-text-split-stream=false v=0',
  'logging-format=text profiling=true show-hidden-metrics-for-version=',
];
const componentDefaults = [
  ...commonDefaults,
  'authentication-kubeconfig= authentication-skip-lookup=false authentication-token-webhook-cache-ttl=10s',
  'authentication-tolerate-lookup-failure=false authorization-always-allow-paths=/healthz,/readyz,/livez',
  'authorization-kubeconfig= authorization-webhook-cache-authorized-ttl=10s bind-address=0.0.0.0 cert-dir=',
  'authorization-webhook-cache-unauthorized-ttl=10s client-ca-file= disable-http2-serving=false',
  'http2-max-streams-per-connection=0 kube-api-burst=30 kube-api-content-type=application/vnd.kubernetes.protobuf',
  'kube-api-qps=20 leader-elect=true leader-elect-lease-duration=15s leader-elect-renew-deadline=10s master=',
  'leader-elect-resource-lock=leases leader-elect-resource-namespace=kube-system leader-elect-retry-period=2s',
  'permit-address-sharing=false permit-port-sharing=false requestheader-allowed-names= requestheader-client-ca-file=',
  'requestheader-extra-headers-prefix=x-remote-extra- requestheader-group-headers=x-remote-group tls-cert-file=',
  'requestheader-username-headers=x-remote-user tls-min-version=VersionTLS12 tls-private-key-file=',
];

/** The messages about these flags. */
const said = (lines: readonly string[], flags: readonly Flag[], fixed: FixedFlags): readonly string[] =>
  fixedOptions(fixed).read(parseFlags(split(lines), flags, {}).values);
const UNLIKE =
  'vmodule=a=1 log-flush-frequency=1s feature-gates=A=true kube-api-qps=51 kube-api-content-type=application/json';

test('a flag without effect prints a note, unless its value is the default', () => {
  for (const [flags, fixed, limits] of [
    [controllerManagerFlags, controllerManagerFixedFlags, 'kube-api-qps=20 kube-api-burst=30'],
    [schedulerFlags, schedulerFixedFlags, 'kube-api-qps=50 kube-api-burst=100'],
    [proxyFlags, proxyFixedFlags, 'kube-api-qps=5 kube-api-burst=10'],
  ] as const) {
    assert.deepEqual(said([...commonDefaults.slice(0, 2), limits, 'log-flush-frequency=5000ms'], flags, fixed), []);
    assert.deepEqual(
      said([UNLIKE], flags, fixed)
        .map((note) => note.split(': ')[0]?.slice(2))
        .toSorted(),
      UNLIKE.split(' ').toSorted(),
    );
  }
});

test("spelling out the controller manager's defaults changes nothing", () => {
  const spelled = controllerManager([
    '--kubeconfig=/k',
    ...split([
      ...componentDefaults,
      'allocate-node-cidrs=false attach-detach-reconcile-sync-period=1m0s cidr-allocator-type=RangeAllocator',
      'cloud-config= cloud-provider= cluster-cidr= cluster-name=kubernetes cluster-signing-cert-file=',
      'cluster-signing-duration=8760h0m0s cluster-signing-kubelet-serving-cert-file= concurrent-deployment-syncs=5',
      'concurrent-cron-job-syncs=5 concurrent-daemonset-syncs=2 concurrent-endpoint-syncs=5 concurrent-gc-syncs=20',
      'concurrent-ephemeralvolume-syncs=5 concurrent-horizontal-pod-autoscaler-syncs=5 concurrent-job-syncs=5',
      'concurrent-namespace-syncs=10 concurrent-rc-syncs=5 concurrent-replicaset-syncs=5 concurrent-service-syncs=1',
      'concurrent-resource-quota-syncs=5 concurrent-service-endpoint-syncs=5 concurrent-statefulset-syncs=5',
      'concurrent-serviceaccount-token-syncs=5 concurrent-ttl-after-finished-syncs=5 configure-cloud-routes=true',
      'concurrent-validating-admission-policy-status-syncs=5 controller-start-interval=0s controllers=*',
      'disable-attach-detach-reconcile-sync=false enable-dynamic-provisioning=true enable-garbage-collector=true',
      'enable-hostpath-provisioner=false enable-leader-migration=false endpoint-updates-batch-period=0s',
      'endpointslice-updates-batch-period=0s external-cloud-volume-plugin= horizontal-pod-autoscaler-tolerance=0.1',
      'flex-volume-plugin-dir=/usr/libexec/kubernetes/kubelet-plugins/volume/exec/ leader-migration-config=',
      'horizontal-pod-autoscaler-cpu-initialization-period=5m0s horizontal-pod-autoscaler-downscale-stabilization=5m0s',
      'horizontal-pod-autoscaler-initial-readiness-delay=30s horizontal-pod-autoscaler-sync-period=15s',
      'large-cluster-size-threshold=50 legacy-service-account-token-clean-up-period=8760h0m0s min-resync-period=12h0m0s',
      'leader-elect-resource-name=kube-controller-manager max-endpoints-per-slice=100 namespace-sync-period=5m0s',
      'mirroring-concurrent-service-endpoint-syncs=5 mirroring-endpointslice-updates-batch-period=0s',
      'mirroring-max-endpoints-per-subset=1000 node-eviction-rate=0.1 node-monitor-grace-period=50s',
      'node-monitor-period=5s node-startup-grace-period=1m0s node-sync-period=0s pvclaimbinder-sync-period=15s',
      'pv-recycler-increment-timeout-nfs=30 pv-recycler-minimum-timeout-hostpath=60 resource-quota-sync-period=5m0s',
      'root-ca-file= route-reconciliation-period=10s secondary-node-eviction-rate=0.01 secure-port=10257',
      'service-account-private-key-file= service-cluster-ip-range= terminated-pod-gc-threshold=12500',
      'unhealthy-zone-threshold=0.55 use-service-account-credentials=false',
    ]),
  ]);
  const unsaid = controllerManager(['--kubeconfig=/k']);
  assert.deepEqual(spelled.serving, unsaid.serving);
  const { leaderElection, ...options } = spelled.options;
  const { leaderElection: other, ...rest } = unsaid.options;
  assert.deepEqual(options, rest);
  assert.deepEqual(leaderElection, { ...other, name: 'kube-controller-manager', namespace: 'kube-system' });
});

test("kubeadm's command line of the scheduler is accepted, and its defaults change nothing", () => {
  const conf = '/etc/kubernetes/scheduler.conf';
  const stock = [`--authentication-kubeconfig=${conf}`, `--authorization-kubeconfig=${conf}`, `--kubeconfig=${conf}`];
  const values = readComponentFlags(
    [...stock, '--bind-address=127.0.0.1', '--leader-elect=true'],
    schedulerFlags,
    schedulerFixedFlags,
  );
  const { securePort, bindAddress, authorizationKubeconfig } = schedulerServing.read(values);
  assert.deepEqual([securePort, bindAddress, authorizationKubeconfig], [10_259, '127.0.0.1', conf]);
  assert.deepEqual(rawOptions(values, schedulingFlags, {}), { kubeconfig: conf, leaderElect: true });
  readComponentFlags(
    split([
      ...componentDefaults,
      'leader-elect-resource-name=kube-scheduler pod-max-in-unschedulable-pods-duration=5m0s secure-port=10259',
    ]),
    schedulerFlags,
    schedulerFixedFlags,
  );
});

test("kubeadm's command line of the proxy is accepted, and its defaults change nothing", () => {
  const stock = ['--config=/var/lib/kube-proxy/config.conf', '--hostname-override=n1'];
  assert.deepEqual(rawOptions(readComponentFlags(stock, proxyFlags, proxyFixedFlags), proxySettings, {}), {
    config: '/var/lib/kube-proxy/config.conf',
    hostnameOverride: 'n1',
  });
  readComponentFlags(
    split([
      ...commonDefaults,
      'bind-address=0.0.0.0 bind-address-hard-fail=false cleanup=false cluster-cidr= config= config-sync-period=15m0s',
      'conntrack-max-per-core=32768 conntrack-min=131072 conntrack-tcp-be-liberal=false conntrack-udp-timeout=0s',
      'conntrack-tcp-timeout-close-wait=1h0m0s conntrack-tcp-timeout-established=24h0m0s detect-local-mode=',
      'healthz-bind-address=0.0.0.0:10256 init-only=false iptables-masquerade-bit=14 iptables-min-sync-period=1s',
      'iptables-localhost-nodeports=true iptables-sync-period=30s ipvs-strict-arp=false ipvs-scheduler= kube-api-qps=5',
      'kube-api-burst=10 masquerade-all=false metrics-bind-address=127.0.0.1:10249 nodeport-addresses=',
      'oom-score-adj=-999 proxy-mode=iptables proxy-port-range= write-config-to=',
    ]),
    proxyFlags,
    proxyFixedFlags,
  );
});

test("kubeadm's and kind's command lines of the kubelet are accepted", () => {
  const flags = collectFlags([
    '--container-runtime-endpoint=unix:///run/containerd/containerd.sock',
    '--pod-infra-container-image=registry.k8s.io/pause:3.10',
    '--provider-id=kind://docker/kind/kind-control-plane',
    '--runtime-cgroups=/system.slice/containerd.service',
    '--log-flush-frequency=5s',
    '--profiling=false',
    '--register-node=true',
    '-v=2',
  ]);
  assert.deepEqual(Object.keys(flags), ['container-runtime-endpoint', 'provider-id', 'register-node', 'v']);
});

const refused: readonly [read: () => unknown, message: RegExp][] = [
  [() => controllerManager(['--kubeconfig=/k', '--cloud-provider=aws']), /a cloud brings its own controller manager/],
  [
    () => controllerManager(['--kubeconfig=/k', '--node-eviction-rate=1']),
    /^--node-eviction-rate=1: it is always 0.1 here$/,
  ],
  [() => controllerManager(['--kubeconfig=/k', '--secure-port=70000']), /must be between 0 and 65535/],
  [() => controllerManager(['--kubeconfg=/k']), /unknown flag: --kubeconfg; did you mean --kubeconfig\?/],
  [() => readComponentFlags(['--detect-local-mode=NodeCIDR'], proxyFlags, proxyFixedFlags), /known by --cluster-cidr$/],
  [() => readComponentFlags(['--write-config-to=/x'], schedulerFlags, schedulerFixedFlags), /not written anywhere/],
  [() => collectFlags(['--lock-file=/x']), /one kubelet holds its directory anyway/],
];
for (const [read, message] of refused)
  test(`a command line is refused with: ${message.source}`, () => {
    assert.throws(
      read,
      (error) => (error instanceof FlagError || error instanceof UserError) && message.test(error.message),
    );
  });

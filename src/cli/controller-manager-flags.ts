/** Flags of `keelson controller-manager`: upstream's, and which of them change nothing here. */
import { anyValue, anyValues, componentFlags, onlyDefault } from '../component-helpers/command-line/component-flags.ts';
import { type FixedFlags, fixedOptions } from '../component-helpers/command-line/fixed-flags.ts';
import { type Flag, named } from '../component-helpers/command-line/flags.ts';
import { logOptions } from '../component-helpers/command-line/log-options.ts';
import { componentServingFixed, componentServingOptions } from './component-serving.ts';
import { clientFixedFlags, CLIENT_FLAGS, electionFlags, INSECURE_FLAGS } from './component-client-flags.ts';

const ONE_SIGNER = 'one authority signs for all signers: --cluster-signing-cert-file';
const NO_CLOUD = 'a cloud brings its own controller manager';
const OWN = 'each controller has the workers it needs';

const fixedTimes = (rows: Readonly<Record<string, string>>): FixedFlags =>
  Object.fromEntries(
    Object.entries(rows).map(([name, usual]) => [
      name,
      onlyDefault(usual, `it is always ${usual} here`, `always ${usual} here`),
    ]),
  );

/** Upstream's default numbers of workers. */
const SYNCS: Readonly<Record<string, string>> = {
  'cron-job': '5',
  daemonset: '2',
  deployment: '5',
  'device-taint-eviction': '8',
  endpoint: '5',
  ephemeralvolume: '5',
  gc: '20',
  'horizontal-pod-autoscaler': '5',
  job: '5',
  namespace: '10',
  rc: '5',
  replicaset: '5',
  'resource-claim': '10',
  'resource-quota': '5',
  service: '1',
  'service-endpoint': '5',
  'serviceaccount-token': '5',
  statefulset: '5',
  'ttl-after-finished': '5',
  'validating-admission-policy-status': '5',
};

const signers = ['kube-apiserver-client', 'kubelet-client', 'kubelet-serving', 'legacy-unknown'].flatMap((signer) =>
  ['cert', 'key'].map(
    (part) => [`cluster-signing-${signer}-${part}-file`, onlyDefault('', ONE_SIGNER, 'not offered')] as const,
  ),
);

/** Flags without effect, and flags of which only the default value is supported. */
export const controllerManagerFixedFlags: FixedFlags = {
  ...componentFlags,
  ...componentServingFixed,
  ...clientFixedFlags({ qps: '20', burst: '30' }),
  ...Object.fromEntries(
    Object.entries(SYNCS).map(([kind, usual]) => [`concurrent-${kind}-syncs`, anyValue(usual, OWN)]),
  ),
  ...Object.fromEntries(signers),
  ...fixedTimes({
    'cluster-signing-duration': '8760h0m0s',
    'horizontal-pod-autoscaler-cpu-initialization-period': '5m0s',
    'horizontal-pod-autoscaler-downscale-stabilization': '5m0s',
    'horizontal-pod-autoscaler-initial-readiness-delay': '30s',
    'horizontal-pod-autoscaler-sync-period': '15s',
    'horizontal-pod-autoscaler-tolerance': '0.1',
    'large-cluster-size-threshold': '50',
    'legacy-service-account-token-clean-up-period': '8760h0m0s',
    'max-endpoints-per-slice': '100',
    'mirroring-max-endpoints-per-subset': '1000',
    'node-eviction-rate': '0.1',
    'secondary-node-eviction-rate': '0.01',
    'node-startup-grace-period': '1m0s',
    'unhealthy-zone-threshold': '0.55',
    'cidr-allocator-type': 'RangeAllocator',
    'endpoint-updates-batch-period': '0s',
    'endpointslice-updates-batch-period': '0s',
    'mirroring-endpointslice-updates-batch-period': '0s',
    'controller-start-interval': '0s',
    'enable-dynamic-provisioning': 'true',
    'enable-garbage-collector': 'true',
    'disable-attach-detach-reconcile-sync': 'false',
    'disable-force-detach-on-timeout': 'false',
    'enable-hostpath-provisioner': 'false',
    'enable-leader-migration': 'false',
    'leader-migration-config': '',
    'cloud-config': '',
    'external-cloud-volume-plugin': '',
  }),
  'cloud-provider': { type: 'string', is: ['', 'external'], otherwise: NO_CLOUD, description: 'external, or none' },
  'cluster-name': anyValue('kubernetes', 'names nothing without a cloud'),
  'configure-cloud-routes': anyValue('true', NO_CLOUD),
  'attach-detach-reconcile-sync-period': anyValue('1m0s', 'attachments are looked at when something changes'),
  'flex-volume-plugin-dir': anyValue(
    '/usr/libexec/kubernetes/kubelet-plugins/volume/exec/',
    'there are no FlexVolumes',
  ),
  'feature-gates': anyValue('', 'features are as they are by default', 'list'),
  'min-resync-period': anyValue('12h0m0s', 'nothing needs to be listed again'),
  'mirroring-concurrent-service-endpoint-syncs': anyValue('5', OWN),
  'namespace-sync-period': anyValue('5m0s', 'namespaces are looked at when something changes'),
  'node-sync-period': anyValue('0s', 'nodes are looked at when something changes'),
  'pvclaimbinder-sync-period': anyValue('15s', 'claims are looked at when something changes'),
  'resource-quota-sync-period': anyValue('5m0s', 'quotas are counted when something changes'),
  'route-reconciliation-period': anyValue('10s', NO_CLOUD),
  ...anyValues('nothing is recycled', {
    'pv-recycler-increment-timeout-nfs': '30',
    'pv-recycler-minimum-timeout-hostpath': '60',
    'pv-recycler-minimum-timeout-nfs': '300',
    'pv-recycler-pod-template-filepath-hostpath': '',
    'pv-recycler-pod-template-filepath-nfs': '',
    'pv-recycler-timeout-increment-hostpath': '30',
  }),
};

/** Flags that configure the controllers. */
export const controllerFlags: readonly Flag[] = [
  ...CLIENT_FLAGS,
  ...electionFlags('kube-controller-manager'),
  named('controllers', "which to run: '*' all, 'name' this one, '-name' not this one (default *)", 'list'),
  named('use-service-account-credentials', 'each controller acts as a service account of its own', 'bool'),
  named('allocate-node-cidrs', 'give each node a range of pod addresses', 'bool'),
  named('cluster-cidr', 'addresses of pods'),
  named('service-cluster-ip-range', 'addresses of services: never given to nodes'),
  named('node-cidr-mask-size', 'size of a node’s range (24)'),
  named('node-cidr-mask-size-ipv4', 'the same, IPv4 (24)'),
  named('node-cidr-mask-size-ipv6', 'the same, IPv6 (64)'),
  named('cluster-signing-cert-file', 'certificate of the authority that signs certificate requests'),
  named('cluster-signing-key-file', 'its private key'),
  named('root-ca-file', 'certificates published in every namespace and in token secrets'),
  named('service-account-private-key-file', 'RSA or EC key that signs the tokens of secrets'),
  named('automatic-token-secrets', 'as the early releases: a token secret for every service account', 'bool'),
  named('node-monitor-grace-period', 'how long a node may be silent (default 50s)'),
  named('node-monitor-period', 'between looks at the nodes (default 5s)'),
  named('terminated-pod-gc-threshold', 'how many ended pods may stay (default 12500)'),
  ...INSECURE_FLAGS,
];

/** Serving flags. */
export const controllerManagerServing = componentServingOptions({ securePort: 10_257, toleratesLookupFailure: false });

/** Every flag. */
export const controllerManagerFlags: readonly Flag[] = [
  ...controllerFlags,
  ...controllerManagerServing.flags,
  ...logOptions.flags,
  ...fixedOptions(controllerManagerFixedFlags).flags,
];

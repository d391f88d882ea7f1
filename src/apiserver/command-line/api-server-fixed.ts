/** Flags of the API server whose values change nothing here, or of which only upstream's default is done. */
import { anyValue, componentFlags, onlyDefault } from '../../component-helpers/command-line/component-flags.ts';
import type { FixedFlags } from '../../component-helpers/command-line/fixed-flags.ts';

const INTERVAL = 'its metrics are read when they are asked for';
const ONE_ETCD = 'all resources are kept in the servers of --etcd-servers';
const NO_PEERS = 'requests are not passed on to servers of other versions';

export const apiServerFixedFlags: FixedFlags = {
  ...componentFlags,
  'enable-logs-handler': {
    type: 'bool',
    is: ['false'],
    noted: { true: 'logs are not served at /logs' },
    description: 'nothing is served at /logs, whatever is asked for',
  },
  'watch-cache': onlyDefault('true', 'reads are always served from the watch cache', 'always true here'),
  'watch-cache-sizes': anyValue('', 'the watch cache finds its size itself'),
  'default-watch-cache-size': anyValue('100', 'the watch cache finds its size itself'),
  'enable-garbage-collector': onlyDefault('true', 'the API serves it in any case', 'always true here'),
  'enable-aggregator-routing': anyValue('false', 'requests reach the same servers either way'),
  'endpoint-reconciler-type': onlyDefault('lease', 'servers find one another by leases', 'always lease here'),
  'apiserver-count': anyValue('1', 'servers count themselves'),
  'audit-log-version': onlyDefault('audit.k8s.io/v1', 'there is no other', 'always audit.k8s.io/v1'),
  'audit-log-compress': onlyDefault('false', 'old files are kept as they are', 'always false here'),
  'audit-webhook-version': onlyDefault('audit.k8s.io/v1', 'there is no other', 'always audit.k8s.io/v1'),
  'delete-collection-workers': anyValue('1', 'collections are deleted as fast as the store takes it'),
  'debug-socket-path': onlyDefault('', 'there is no such socket', 'not offered'),
  'egress-selector-config-file': onlyDefault('', 'the servers reach nodes and webhooks directly', 'not offered'),
  'max-connection-bytes-per-sec': onlyDefault('0', 'connections are not throttled', 'always 0 here'),
  'etcd-servers-overrides': onlyDefault('', ONE_ETCD, 'not offered'),
  'etcd-count-metric-poll-period': anyValue('1m0s', INTERVAL),
  'etcd-db-metric-poll-interval': anyValue('30s', INTERVAL),
  'etcd-healthcheck-timeout': anyValue('2s', 'read, without effect: the store is looked at in the background'),
  'etcd-readycheck-timeout': anyValue('2s', 'read, without effect: the store is looked at in the background'),
  'lease-reuse-duration-seconds': anyValue(
    '60',
    'read, without effect: objects that end at about one time share a lease',
  ),
  'storage-initialization-timeout': anyValue('1m0s', 'nothing is served before the store is read'),
  'storage-media-type': {
    type: 'string',
    is: ['application/json'],
    noted: {
      'application/vnd.kubernetes.protobuf': 'objects are stored as JSON, which Kubernetes reads as well',
    },
    description: 'always application/json here',
  },
  'identity-lease-duration-seconds': onlyDefault('3600', 'that is how long', 'always 3600 here'),
  'identity-lease-renew-interval-seconds': onlyDefault('10', 'that is how often', 'always 10 here'),
  'kubelet-port': onlyDefault('10250', 'nodes tell the port of their kubelet', 'nodes tell it'),
  'kubelet-read-only-port': anyValue('10255', 'kubelets are always spoken to over TLS'),
  'kubelet-timeout': anyValue('5s', 'read, without effect: what is asked of kubelets ends with the request'),
  'livez-grace-period': anyValue('0s', 'the server is alive as soon as it listens'),
  'peer-advertise-ip': onlyDefault('', NO_PEERS, 'not offered'),
  'peer-advertise-port': onlyDefault('', NO_PEERS, 'not offered'),
  'peer-ca-file': onlyDefault('', NO_PEERS, 'not offered'),
  'permit-address-sharing': anyValue('false', 'addresses are always shared so'),
  'coordinated-leadership-lease-duration': anyValue('15s', 'read, without effect: leaders elect themselves'),
  'coordinated-leadership-renew-deadline': anyValue('10s', 'read, without effect: leaders elect themselves'),
  'coordinated-leadership-retry-period': anyValue('2s', 'read, without effect: leaders elect themselves'),
  'runtime-config-emulation-forward-compatible': anyValue('false', 'read, without effect'),
  'service-account-signing-endpoint': onlyDefault(
    '',
    'tokens are signed with --service-account-signing-key-file',
    'not offered',
  ),
};

/**
 * Keys of k3s's config.yaml (flags of `k3s server` and `k3s agent`) that have other names in Keelson, those that ask
 * for what happens anyway, and those that are refused. Pure.
 */

/** A flag of Keelson's with its value. */
export interface TranslatedKey {
  readonly flag: string;
  readonly text: string;
}

/** Keys with another name in Keelson. */
export const RENAMED: Readonly<Record<string, string>> = {
  'https-listen-port': 'https-port',
  'write-kubeconfig-mode': 'kubeconfig-mode',
  'datastore-cafile': 'etcd-cafile',
  'datastore-certfile': 'etcd-certfile',
  'datastore-keyfile': 'etcd-keyfile',
  'kube-controller-manager-arg': 'controller-manager-arg',
  'kube-controller-arg': 'controller-manager-arg',
  'etcd-snapshot-schedule-cron': 'snapshot-schedule-cron',
  'etcd-snapshot-retention': 'snapshot-retention',
  'etcd-snapshot-dir': 'snapshot-dir',
  'etcd-snapshot-name': 'snapshot-name',
  'etcd-s3': 's3',
  'etcd-s3-endpoint': 's3-endpoint',
  'etcd-s3-endpoint-ca': 's3-endpoint-ca',
  'etcd-s3-skip-ssl-verify': 's3-skip-ssl-verify',
  'etcd-s3-insecure': 's3-insecure',
  'etcd-s3-region': 's3-region',
  'etcd-s3-bucket': 's3-bucket',
  'etcd-s3-bucket-lookup-type': 's3-bucket-lookup-type',
  'etcd-s3-folder': 's3-folder',
  'etcd-s3-access-key': 's3-access-key',
  'etcd-s3-secret-key': 's3-secret-key',
  'etcd-s3-session-token': 's3-session-token',
  'etcd-s3-config-secret': 's3-config-secret',
  'etcd-s3-timeout': 's3-timeout',
  'etcd-s3-retention': 's3-retention',
};

/** Keys that ask for what happens anyway, with this value. */
export const HOLDS: Readonly<Record<string, readonly string[]>> = {
  'disable-helm-controller': ['true'],
  'disable-cloud-controller': ['true'],
  'egress-selector-mode': ['disabled', 'agent'],
  'embedded-registry': ['false'],
  rootless: ['false'],
  selinux: ['false'],
  docker: ['false'],
  snapshotter: ['overlayfs'],
  'protect-kernel-defaults': ['false'],
  'disable-network-policy': ['false'],
  'disable-kube-proxy': ['false'],
  'disable-scheduler': ['false'],
  'disable-apiserver': ['false'],
  'disable-etcd': ['false'],
  'disable-controller-manager': ['false'],
  'secrets-encryption': ['false'],
  'supervisor-metrics': ['false'],
  'etcd-snapshot-compress': ['false'],
};

/** Packaged components of k3s that do not exist here, so that disabling them has no effect. */
const ABSENT_COMPONENTS: readonly string[] = ['helm-controller', 'runtimes', 'ccm'];

/** The flags of k3s's packaged components. */
const COMPONENTS: Readonly<Record<string, string>> = {
  coredns: 'dns',
  'local-storage': 'local-path',
  'metrics-server': 'metrics',
  servicelb: 'load-balancer',
  traefik: 'gateway',
};

/** Refused keys, with what replaces them. */
export const REFUSED_K3S_KEYS: Readonly<Record<string, string>> = {
  disable: 'coredns, local-storage, metrics-server, servicelb and traefik can be left out here',
  'secrets-encryption': 'name an EncryptionConfiguration by encryption-provider-config',
  snapshotter: 'only overlayfs',
  rootless: 'real pods need root',
  docker: 'name its CRI endpoint by container-runtime-endpoint',
  selinux: 'containers are not labelled',
  'kube-proxy-arg': 'proxy-mode and nodeport-addresses are the settings of the proxy',
  'kube-scheduler-arg': 'name a KubeSchedulerConfiguration by scheduler-config',
  'disable-kube-proxy': 'the proxy is part of the node',
  'disable-network-policy': 'policies are always enforced with cni: keelson',
  'etcd-disable-snapshots': 'snapshots are made only with etcd-snapshot-schedule-cron',
  'etcd-snapshot-compress': 'snapshots are not compressed',
  'etcd-s3-proxy': 'S3 is reached without a proxy',
  'agent-token': 'make tokens by keelson token create',
  'cluster-dns': 'the tenth address of service-cidr',
  'service-node-port-range': 'give kube-apiserver-arg: service-node-port-range=...',
  'default-local-storage-path': 'volumes of the class local-path lie in the data directory',
  'private-registry': 'put the file at registries.yaml of the data directory',
  'vpn-auth': 'no VPN is made',
};

/** The setting for a key of k3s; undefined for an unknown one. */
export function translateK3sKey(key: string, value: string, command: string): TranslatedKey | 'ignore' | undefined {
  if (HOLDS[key]?.includes(value) === true) return 'ignore';
  const renamed = RENAMED[key];
  if (renamed !== undefined) return { flag: renamed, text: value };
  switch (key) {
    case 'datastore-endpoint':
      return { flag: 'store', text: datastore(value) };
    case 'flannel-backend':
      if (value === 'none') return { flag: 'cni', text: 'none' };
      return value === 'host-gw' ? { flag: key, text: 'vxlan' } : undefined;
    case 'disable':
      if (ABSENT_COMPONENTS.includes(value)) return 'ignore';
      return Object.hasOwn(COMPONENTS, value) ? { flag: COMPONENTS[value]!, text: 'none' } : undefined;
    case 'debug':
      return value === 'true' ? { flag: 'log-level', text: 'debug' } : 'ignore';
    case 'server':
      return command === 'server' ? { flag: 'join', text: value } : undefined;
    case 'resolv-conf':
      return { flag: 'kubelet-arg', text: `resolv-conf=${value}` };
    case 'kube-apiserver-arg':
      return apiServerFlag(value);
    default:
      return undefined;
  }
}

/** `https://a:2379,https://b:2379` is etcd; a path or nothing is SQLite. */
function datastore(value: string): string {
  if (value === '' || value.startsWith('sqlite://')) return 'sqlite';
  return /^https?:\/\//.test(value) ? `etcd=${value}` : value;
}

/** `name=value` is a flag of `keelson up` and `server` itself. */
function apiServerFlag(value: string): TranslatedKey {
  const [, flag = '', text = ''] = /^(?:--)?([^=]+)=?([^]*)$/.exec(value) ?? [];
  return { flag, text };
}

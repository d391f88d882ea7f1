/**
 * The RBAC objects a cluster is born with. Reconciled at every start as upstream does: what is missing is created, rules
 * and subjects that were removed come back, additions stay, unless `rbac.authorization.kubernetes.io/autoupdate` is
 * `false`. Upstream: rbac/rest/storage_rbac.go.
 */
import { KUBELET_CLIENTS } from '../../component-helpers/pki/cluster-pki.ts';
import type { ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, Subject } from '../../api/gen/rbac-v1.ts';
import { componentRoles } from './component-roles.ts';
import { controllerRoles, patchWhereUpdate } from './controller-roles.ts';
import { rules } from './rule.ts';
import { userRoles, type BootstrapRole } from './user-roles.ts';

const LABELS = { 'kubernetes.io/bootstrapping': 'rbac-defaults' };
const ANNOTATIONS = { 'rbac.authorization.kubernetes.io/autoupdate': 'true' };
const RBAC = 'rbac.authorization.k8s.io';
const API_VERSION = `${RBAC}/v1`;

const group = (name: string): Subject => ({ apiGroup: RBAC, kind: 'Group', name });
const user = (name: string): Subject => ({ apiGroup: RBAC, kind: 'User', name });
const account = (name: string): Subject => ({ kind: 'ServiceAccount', name, namespace: 'kube-system' });

function clusterRole(name: string, role: BootstrapRole): ClusterRole {
  return {
    apiVersion: API_VERSION,
    kind: 'ClusterRole',
    metadata: { name, labels: { ...LABELS, ...role.labels }, annotations: { ...ANNOTATIONS } },
    ...(role.aggregate === undefined
      ? {}
      : { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [role.aggregate]: 'true' } }] } }),
    ...(role.rules === undefined ? {} : { rules: [...role.rules] }),
  };
}

/** All bootstrap cluster roles. */
export function bootstrapClusterRoles(): ClusterRole[] {
  return [
    ...Object.entries({ ...userRoles, ...componentRoles }).map(([name, role]) => clusterRole(name, role)),
    ...Object.entries(controllerRoles).map(([name, own]) =>
      clusterRole(`system:controller:${name}`, { rules: own.map(patchWhereUpdate) }),
    ),
  ];
}

const CLUSTER_BINDINGS: Readonly<Record<string, readonly Subject[]>> = {
  'cluster-admin': [group('system:masters')],
  'system:discovery': [group('system:authenticated')],
  'system:basic-user': [group('system:authenticated')],
  'keelson:trouble': [group('system:authenticated')],
  'keelson:own-requests': [group('system:authenticated')],
  'system:public-info-viewer': [group('system:authenticated'), group('system:unauthenticated')],
  'system:monitoring': [group('system:monitoring')],
  'system:node-proxier': [user('system:kube-proxy')],
  'system:kube-controller-manager': [user('system:kube-controller-manager')],
  // Keelson's own DNS is no pod with an account.
  'system:kube-dns': [account('kube-dns'), user('keelson:dns')],
  'keelson:gateway': [user('keelson:gateway')],
  'system:kube-scheduler': [user('system:kube-scheduler')],
  'system:volume-scheduler': [user('system:kube-scheduler')],
  'system:node': [],
  'keelson:kubelet-client': [group(KUBELET_CLIENTS)],
  'system:service-account-issuer-discovery': [group('system:serviceaccounts')],
};

/** All bootstrap cluster role bindings. */
export function bootstrapClusterRoleBindings(): ClusterRoleBinding[] {
  const named = Object.entries(CLUSTER_BINDINGS).map(([name, subjects]) => ({ name, subjects }));
  const controllers = Object.keys(controllerRoles).map((name) => ({
    name: `system:controller:${name}`,
    subjects: [account(name)],
  }));
  return [...named, ...controllers].map(({ name, subjects }) => ({
    apiVersion: API_VERSION,
    kind: 'ClusterRoleBinding',
    metadata: { name, labels: { ...LABELS }, annotations: { ...ANNOTATIONS } },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
    ...(subjects.length === 0 ? {} : { subjects: [...subjects] }),
  }));
}

const leaderLocking = (name: string): PolicyRule[] => rules('watch configmaps', `get,update configmaps#${name}`);

const NAMESPACED: readonly {
  namespace: string;
  name: string;
  binding?: string;
  rules: readonly PolicyRule[];
  subjects: readonly Subject[];
}[] = [
  {
    namespace: 'kube-system',
    name: 'extension-apiserver-authentication-reader',
    binding: 'system::extension-apiserver-authentication-reader',
    rules: rules('get,list,watch configmaps#extension-apiserver-authentication'),
    subjects: [user('system:kube-controller-manager'), user('system:kube-scheduler')],
  },
  {
    namespace: 'kube-system',
    name: 'system:controller:bootstrap-signer',
    rules: rules('get,list,watch secrets'),
    subjects: [account('bootstrap-signer')],
  },
  {
    namespace: 'kube-system',
    name: 'system:controller:cloud-provider',
    rules: rules('create,get,list,watch configmaps'),
    subjects: [account('cloud-provider')],
  },
  {
    namespace: 'kube-system',
    name: 'system:controller:token-cleaner',
    rules: rules('delete,get,list,watch secrets', 'create,patch,update events'),
    subjects: [account('token-cleaner')],
  },
  {
    namespace: 'kube-system',
    name: 'system::leader-locking-kube-controller-manager',
    rules: leaderLocking('kube-controller-manager'),
    subjects: [user('system:kube-controller-manager'), account('kube-controller-manager')],
  },
  {
    namespace: 'kube-system',
    name: 'system::leader-locking-kube-scheduler',
    rules: leaderLocking('kube-scheduler'),
    subjects: [user('system:kube-scheduler'), account('kube-scheduler')],
  },
  {
    namespace: 'kube-public',
    name: 'system:controller:bootstrap-signer',
    rules: rules('get,list,watch configmaps', 'update configmaps#cluster-info', 'create,patch,update events'),
    subjects: [account('bootstrap-signer')],
  },
];

/** Bootstrap roles and bindings inside kube-system and kube-public. */
export function bootstrapNamespacedRoles(): { roles: Role[]; bindings: RoleBinding[] } {
  const meta = (entry: { namespace: string; name: string }): Role['metadata'] => ({
    name: entry.name,
    namespace: entry.namespace,
    labels: { ...LABELS },
    annotations: { ...ANNOTATIONS },
  });
  return {
    roles: NAMESPACED.map((entry) => ({
      apiVersion: API_VERSION,
      kind: 'Role',
      metadata: meta(entry),
      rules: [...entry.rules],
    })),
    bindings: NAMESPACED.map((entry) => ({
      apiVersion: API_VERSION,
      kind: 'RoleBinding',
      metadata: meta({ ...entry, name: entry.binding ?? entry.name }),
      roleRef: { apiGroup: RBAC, kind: 'Role', name: entry.name },
      subjects: [...entry.subjects],
    })),
  };
}

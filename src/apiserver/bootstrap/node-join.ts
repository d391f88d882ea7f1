/**
 * What machines that join find in a cluster: who may ask for certificates, what nodes may read for their proxy, DNS and
 * network policies, who may open a tunnel, `cluster-info` with the certificate authority (kube-public, readable by everybody), and the settings
 * every node shares. Upstream: the documented bindings of TLS bootstrapping, and kubeadm's cluster-info and kubelet-config.
 *
 * Differs on purpose: a node's own certificate serves its proxy, DNS and policies too, so that nothing but rotation of
 * one certificate is needed; it may therefore list services, endpoint slices, nodes and network policies. All pods and
 * namespaces the Node authorizer lets it list while there is a network policy to apply.
 */
import { ClusterRoleBindings, ClusterRoles, ConfigMaps, RoleBindings, Roles } from '../../api/gen/resources.ts';
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding, Subject } from '../../api/gen/rbac-v1.ts';
import type { ConfigMap } from '../../api/gen/core-v1.ts';
import { deepEqual } from '../../base/equal.ts';
import { NODE_ROUTES_PATH } from '../../component-helpers/gateway-class.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { TUNNEL_PATH } from '../streaming/tunnels/tunnel-protocol.ts';
import { rules } from './rule.ts';

const RBAC = 'rbac.authorization.k8s.io';
const API_VERSION = `${RBAC}/v1`;
/** Name of the ConfigMap in kube-system with the settings nodes share. */
export const CLUSTER_CONFIG = 'keelson-config';

const group = (name: string): Subject => ({ apiGroup: RBAC, kind: 'Group', name });
const user = (name: string): Subject => ({ apiGroup: RBAC, kind: 'User', name });

export interface NodeJoinConfig {
  /** A kubeconfig with the cluster's address and authority, no user. */
  readonly clusterInfoKubeconfig: string;
  /** Settings that every node must share. */
  readonly clusterConfig: Readonly<Record<string, string>>;
}

/** Writes and repairs all of it. */
export async function bootstrapNodeJoin(objects: ObjectStore, config: NodeJoinConfig): Promise<void> {
  await Promise.all([
    ensureNodeNetworkRole(objects),
    objects.ensure(ClusterRoles, nodeRoutesRole),
    objects.ensure(ClusterRoles, nodeTunnelRole),
    ...clusterBindings.map((binding) => objects.ensure(ClusterRoleBindings, binding)),
    ...readers.flatMap(({ role, binding }) => [objects.ensure(Roles, role), objects.ensure(RoleBindings, binding)]),
    publish(objects, configMap('kube-public', 'cluster-info', { kubeconfig: config.clusterInfoKubeconfig })),
    publish(objects, configMap('kube-system', CLUSTER_CONFIG, config.clusterConfig)),
  ]);
}

const nodeNetworkRole: ClusterRole = {
  apiVersion: API_VERSION,
  kind: 'ClusterRole',
  metadata: { name: 'keelson:node-network' },
  rules: rules(
    'list,watch services,nodes',
    'list,watch discovery:endpointslices',
    'list,watch networking:networkpolicies',
  ),
};

/** Each node gets what its own gateway serves, certificates among it, and reads no Secret. */
const nodeRoutesRole: ClusterRole = {
  apiVersion: API_VERSION,
  kind: 'ClusterRole',
  metadata: { name: 'keelson:node-routes' },
  rules: rules(`get ${NODE_ROUTES_PATH}`),
};

const nodeTunnelRole: ClusterRole = {
  apiVersion: API_VERSION,
  kind: 'ClusterRole',
  metadata: { name: 'keelson:node-tunnel' },
  rules: rules(`get ${TUNNEL_PATH}`),
};

/** The role's first rules, which were wider than nodes need. */
const widerNetworkRules = rules(
  'r services,endpoints,pods,nodes,namespaces',
  'r discovery:endpointslices',
  'r networking:networkpolicies,networking:servicecidrs',
);

async function ensureNodeNetworkRole(objects: ObjectStore): Promise<void> {
  await objects.ensure(ClusterRoles, nodeNetworkRole);
  await objects.guaranteedUpdate(ClusterRoles, '', 'keelson:node-network', (now) =>
    deepEqual(now.rules, widerNetworkRules) ? { ...now, rules: nodeNetworkRole.rules } : undefined,
  );
}

const clusterBinding = (name: string, role: string, subject: Subject): ClusterRoleBinding => ({
  apiVersion: API_VERSION,
  kind: 'ClusterRoleBinding',
  metadata: { name },
  roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: role },
  subjects: [subject],
});

const REQUESTS = 'system:certificates.k8s.io:certificatesigningrequests';
const clusterBindings: readonly ClusterRoleBinding[] = [
  clusterBinding('create-csrs-for-bootstrapping', 'system:node-bootstrapper', group('system:bootstrappers')),
  clusterBinding('auto-approve-csrs-for-group', `${REQUESTS}:nodeclient`, group('system:bootstrappers')),
  clusterBinding('auto-approve-renewals-for-nodes', `${REQUESTS}:selfnodeclient`, group('system:nodes')),
  clusterBinding('keelson:node-network', 'keelson:node-network', group('system:nodes')),
  clusterBinding('keelson:node-routes', 'keelson:node-routes', group('system:nodes')),
  clusterBinding('keelson:node-tunnel', 'keelson:node-tunnel', group('system:nodes')),
];

const reader = (
  { namespace, name, map }: { namespace: string; name: string; map: string },
  subjects: readonly Subject[],
): { role: Role; binding: RoleBinding } => ({
  role: {
    apiVersion: API_VERSION,
    kind: 'Role',
    metadata: { namespace, name },
    rules: rules(`get configmaps#${map}`),
  },
  binding: {
    apiVersion: API_VERSION,
    kind: 'RoleBinding',
    metadata: { namespace, name },
    roleRef: { apiGroup: RBAC, kind: 'Role', name },
    subjects: [...subjects],
  },
});

const readers = [
  reader({ namespace: 'kube-public', name: 'keelson:cluster-info', map: 'cluster-info' }, [
    user('system:anonymous'),
    group('system:authenticated'),
  ]),
  reader({ namespace: 'kube-system', name: 'keelson:cluster-config', map: CLUSTER_CONFIG }, [
    group('system:bootstrappers'),
    group('system:nodes'),
  ]),
];

function configMap(namespace: string, name: string, data: Readonly<Record<string, string>>): ConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name }, data };
}

/** Keys of others, such as the signatures of kubeadm's tokens, stay. */
async function publish(objects: ObjectStore, wanted: ConfigMap): Promise<void> {
  const { namespace = '', name = '' } = wanted.metadata;
  await objects.ensure(ConfigMaps, wanted);
  await objects.guaranteedUpdate(ConfigMaps, namespace, name, (now) => {
    const data = { ...now.data, ...wanted.data };
    return deepEqual(data, now.data) ? undefined : { ...now, data };
  });
}

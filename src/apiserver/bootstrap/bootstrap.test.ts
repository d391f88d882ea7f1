import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterRole } from '../../api/gen/rbac-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { uncovered } from '../authz/rule-cover.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { bootstrapCluster, type BootstrapConfig } from './bootstrap.ts';
import { bootstrapClusterRoleBindings, bootstrapClusterRoles, bootstrapNamespacedRoles } from './policy.ts';
import { reconcileBootstrap } from './reconcile-policy.ts';
import { rules } from './rule.ts';

test('the shorthand of roles expands to verbs, groups and resources', () => {
  assert.deepEqual(rules('r pods'), [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] }]);
  assert.deepEqual(rules('create,r serviceaccounts')[0]?.verbs, ['create', 'get', 'list', 'watch']);
  assert.deepEqual(rules('get,rw rbac:roles')[0]?.verbs, [
    'get',
    'list',
    'watch',
    'create',
    'delete',
    'deletecollection',
    'patch',
    'update',
  ]);
  assert.deepEqual(rules('get pods,apps:deployments/scale,services#a#b'), [
    { apiGroups: [''], resources: ['pods'], verbs: ['get'] },
    { apiGroups: ['apps'], resources: ['deployments/scale'], verbs: ['get'] },
    { apiGroups: [''], resources: ['services'], verbs: ['get'], resourceNames: ['a', 'b'] },
  ]);
  assert.deepEqual(rules('get /healthz,/livez'), [{ nonResourceURLs: ['/healthz', '/livez'], verbs: ['get'] }]);
  assert.throws(() => rules('get'), /malformed/);
});

test('no rule holds a shorthand by mistake', () => {
  const verbs = new Set(bootstrapClusterRoles().flatMap((role) => (role.rules ?? []).flatMap((r) => r.verbs)));
  for (const wrong of ['r', 'w', 'rw']) assert.ok(!verbs.has(wrong), wrong);
});

test('every bound role exists', () => {
  const clusterRoles = new Set(bootstrapClusterRoles().map((r) => r.metadata.name));
  for (const { roleRef } of bootstrapClusterRoleBindings()) assert.ok(clusterRoles.has(roleRef.name), roleRef.name);
  const { roles, bindings } = bootstrapNamespacedRoles();
  for (const { metadata, roleRef } of bindings)
    assert.ok(
      roles.some((r) => r.metadata.namespace === metadata.namespace && r.metadata.name === roleRef.name),
      roleRef.name,
    );
});

test('names as upstream', () => {
  const roles = bootstrapClusterRoles().map((r) => r.metadata.name);
  const wanted = [
    'cluster-admin',
    'admin',
    'edit',
    'view',
    'system:aggregate-to-admin',
    'system:aggregate-to-edit',
    'system:aggregate-to-view',
    'system:discovery',
    'system:basic-user',
    'system:public-info-viewer',
    'system:monitoring',
    'system:node',
    'system:node-proxier',
    'system:node-bootstrapper',
    'system:node-problem-detector',
    'system:kubelet-api-admin',
    'system:kube-scheduler',
    'system:volume-scheduler',
    'system:kube-controller-manager',
    'system:kube-dns',
    'system:kube-aggregator',
    'system:heapster',
    'system:auth-delegator',
    'system:persistent-volume-provisioner',
    'system:service-account-issuer-discovery',
    'system:controller:resource-claim-controller',
    'system:controller:volumeattributesclass-protection-controller',
    'system:controller:clusterrole-aggregation-controller',
    'system:controller:legacy-service-account-token-cleaner',
    'system:certificates.k8s.io:kubelet-serving-approver',
  ];
  for (const name of wanted) assert.ok(roles.includes(name), name);
  assert.equal(new Set(roles).size, roles.length, 'no name twice');
  const { bindings } = bootstrapNamespacedRoles();
  assert.ok(
    bindings.some(
      (b) =>
        b.metadata.name === 'system::extension-apiserver-authentication-reader' &&
        b.roleRef.name === 'extension-apiserver-authentication-reader',
    ),
  );
});

const rights: readonly [role: string, can: string[], cannot: string[]][] = [
  [
    'system:aggregate-to-view',
    ['get pods,pods/log,services', 'watch apps:deployments'],
    ['get secrets', 'create pods', 'get rbac:roles', 'get nodes'],
  ],
  [
    'system:aggregate-to-edit',
    [
      'get secrets',
      'create pods/exec,pods/eviction',
      'deletecollection apps:statefulsets',
      'create serviceaccounts/token',
    ],
    ['create rbac:roles', 'update resourcequotas', 'delete namespaces'],
  ],
  [
    'system:aggregate-to-admin',
    ['create rbac:rolebindings', 'create authorization:localsubjectaccessreviews'],
    ['update resourcequotas', 'escalate rbac:roles'],
  ],
  [
    'system:kube-scheduler',
    [
      'create pods/binding',
      'patch pods/status',
      'delete pods',
      'r policy:poddisruptionbudgets',
      'update coordination:leases#kube-scheduler',
      'r storage:csinodes',
      'update,patch resource:resourceclaims/binding',
    ],
    ['create pods', 'get secrets', 'arbitrary-node:patch resource:resourceclaims/driver'],
  ],
  [
    'system:node',
    ['create,get nodes', 'patch pods/status', 'create serviceaccounts/token', 'r services'],
    ['delete nodes', 'create pods/binding'],
  ],
  [
    'system:controller:replicaset-controller',
    ['create,delete pods', 'update apps:replicasets/status'],
    ['delete apps:replicasets'],
  ],
  [
    'system:controller:resource-claim-controller',
    ['update,patch resource:resourceclaims/status,resource:resourceclaims/binding'],
    ['arbitrary-node:patch resource:resourceclaims/driver'],
  ],
  [
    'system:controller:generic-garbage-collector',
    ['delete apps:deployments', 'patch example.com:anything'],
    ['create pods'],
  ],
];
for (const [name, can, cannot] of rights) {
  test(`${name} may what it should, and no more`, () => {
    const held = bootstrapClusterRoles().find((r) => r.metadata.name === name)?.rules ?? [];
    assert.deepEqual(uncovered(held, rules(...can)), []);
    for (const line of cannot) assert.equal(uncovered(held, rules(line)).length, 1, line);
  });
}

test('reconciling gives back what was taken and keeps what was added', () => {
  const wanted: ClusterRole = { metadata: { name: 'r', labels: { a: '1' } }, rules: rules('get pods', 'list pods') };
  assert.equal(reconcileBootstrap(wanted, wanted), undefined);
  const changed: ClusterRole = {
    metadata: { name: 'r', labels: { a: '2', b: '3' } },
    rules: rules('list pods', 'get secrets'),
  };
  assert.deepEqual(reconcileBootstrap(changed, wanted), {
    metadata: { name: 'r', labels: { a: '2', b: '3' } },
    rules: rules('list pods', 'get secrets', 'get pods'),
  });
  assert.equal(
    reconcileBootstrap(
      { ...changed, metadata: { name: 'r', annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'false' } } },
      wanted,
    ),
    undefined,
  );
  const aggregated: ClusterRole = { metadata: { name: 'view' }, aggregationRule: { clusterRoleSelectors: [{}] } };
  assert.deepEqual(
    reconcileBootstrap(
      { ...aggregated, rules: rules('get pods') },
      { ...aggregated, metadata: { name: 'view', labels: { x: 'y' } } },
    )?.rules,
    rules('get pods'),
  );
});

test('the scheduler may read and write all it does', () => {
  const held = bootstrapClusterRoles()
    .filter((r) => ['system:kube-scheduler', 'system:volume-scheduler'].includes(r.metadata.name ?? ''))
    .flatMap((r) => r.rules ?? []);
  const needs = rules(
    'r nodes,pods,services,replicationcontrollers,persistentvolumeclaims,persistentvolumes,namespaces',
    'r apps:replicasets,apps:statefulsets',
    'r storage:storageclasses',
    'r policy:poddisruptionbudgets',
    'delete pods',
    'create pods/binding',
    'patch pods/status',
    'patch persistentvolumeclaims',
    'create,patch events',
  );
  assert.deepEqual(uncovered(held, needs), []);
});

test('the default storage class: of new clusters only, and where it is wanted', async () => {
  const stored = new Map<string, KubernetesObject>();
  const keyOf = ({ resource }: ResourceInfo<never>, name: string): string => `${resource}/${name}`;
  const objects = {
    getFresh: async (info: ResourceInfo<never>, _namespace: string, name: string) => stored.get(keyOf(info, name)),
    async ensure(info: ResourceInfo<never>, object: KubernetesObject) {
      const key = keyOf(info, object.metadata.name ?? '');
      if (!stored.has(key)) stored.set(key, object);
      return stored.get(key);
    },
    guaranteedUpdate: async () => undefined,
    list: () => [],
  } as unknown as ObjectStore;
  const config: BootstrapConfig = { kubernetesServiceIp: '10.43.0.1', advertised: async () => [], nowMs: () => 0 };
  const boot = async (localPathClass: boolean): Promise<KubernetesObject | undefined> => {
    await bootstrapCluster(objects, { ...config, localPathClass });
    return stored.get('storageclasses/local-path');
  };
  assert.equal(await boot(false), undefined, 'not asked for');
  assert.equal(await boot(true), undefined, 'the cluster is not new');
  stored.clear();
  const annotations = (await boot(true))?.metadata.annotations;
  assert.equal(annotations?.['storageclass.kubernetes.io/is-default-class'], 'true');
  stored.delete('storageclasses/local-path');
  assert.equal(await boot(true), undefined, 'whoever deletes it does not get it back');
});

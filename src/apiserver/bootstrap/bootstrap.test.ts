import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterRole } from '../../api/gen/rbac-v1.ts';
import { Namespaces } from '../../api/gen/resources.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { uncoveredRules } from '../authz/rule-cover.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { bootstrapCluster, type BootstrapConfig } from './bootstrap.ts';
import { bootstrapClusterRoleBindings, bootstrapClusterRoles, bootstrapNamespacedRoles } from './policy.ts';
import { localPathStorageClass } from './local-path-class.ts';
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
  test(`${name} has exactly its rights`, () => {
    const held = bootstrapClusterRoles().find((r) => r.metadata.name === name)?.rules ?? [];
    assert.deepEqual(uncoveredRules(held, rules(...can)), []);
    for (const line of cannot) assert.equal(uncoveredRules(held, rules(line)).length, 1, line);
  });
}

test('reconciling restores removed rules and keeps added ones', () => {
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

test('a role that was complete is compared again when any of its parts is another', () => {
  const wanted: ClusterRole = {
    metadata: { name: 'r', labels: { a: '1' }, annotations: { b: '2' } },
    rules: rules('get pods'),
  };
  const complete: ClusterRole = structuredClone(wanted);
  for (let time = 0; time < 2; time++) assert.equal(reconcileBootstrap(complete, wanted), undefined);
  const lacking: readonly Partial<ClusterRole>[] = [
    { rules: [] },
    { metadata: { ...complete.metadata, labels: {} } },
    { metadata: { ...complete.metadata, annotations: {} } },
  ];
  for (const part of lacking) assert.deepEqual(reconcileBootstrap({ ...complete, ...part }, wanted), wanted);
  assert.equal(reconcileBootstrap({ ...complete, metadata: { ...complete.metadata, uid: 'u' } }, wanted), undefined);
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
  assert.deepEqual(uncoveredRules(held, needs), []);
});

test('the default storage class: of new clusters, unless it is left out, and of clusters that left it out before', async () => {
  const stored = new Map<string, KubernetesObject>();
  const keyOf = ({ resource }: ResourceInfo, name: string): string => `${resource}/${name}`;
  const objects = {
    getFresh: async (info: ResourceInfo, _namespace: string, name: string) => stored.get(keyOf(info, name)),
    async ensure(info: ResourceInfo, object: KubernetesObject) {
      const key = keyOf(info, object.metadata.name ?? '');
      if (!stored.has(key)) stored.set(key, object);
      return stored.get(key);
    },
    async guaranteedUpdate(
      info: ResourceInfo,
      _namespace: string,
      name: string,
      change: (now: KubernetesObject) => KubernetesObject | undefined,
    ) {
      const now = stored.get(keyOf(info, name));
      const changed = now && info === Namespaces ? change(now) : undefined;
      if (changed !== undefined) stored.set(keyOf(info, name), changed);
    },
    delete: async (info: ResourceInfo, { name }: { readonly name: string }) => stored.delete(keyOf(info, name)),
    list: () => [],
  } as unknown as ObjectStore;
  const config: BootstrapConfig = { kubernetesServiceIp: '10.43.0.1', advertised: async () => [], nowMs: () => 0 };
  const boot = async (localPath: BootstrapConfig['localPath']): Promise<KubernetesObject | undefined> => {
    await bootstrapCluster(objects, { ...config, localPath });
    return stored.get('storageclasses/local-path');
  };
  assert.equal(await boot('unknown'), undefined, 'another process runs the controllers');
  assert.equal(await boot('keelson'), undefined, 'the cluster is not new');
  stored.clear();
  const annotations = (await boot('keelson'))?.metadata.annotations;
  assert.equal(annotations?.['storageclass.kubernetes.io/is-default-class'], 'true');
  stored.delete('storageclasses/local-path');
  assert.equal(await boot('keelson'), undefined, 'a class that was deleted is not created again');

  for (const when of ['of a new cluster', 'later']) {
    stored.clear();
    if (when === 'later') assert.ok(await boot('keelson'));
    assert.equal(await boot('none'), undefined, when);
    assert.equal(await boot('none'), undefined, when);
    assert.equal(await boot('unknown'), undefined, when);
    assert.ok(await boot('keelson'), when);
    stored.delete('storageclasses/local-path');
    assert.equal(await boot('keelson'), undefined, when);
  }
  const own = { ...localPathStorageClass(), provisioner: 'example.com/disks' };
  stored.set('storageclasses/local-path', own);
  assert.equal(await boot('none'), own, 'a class of another provisioner stays');
});

/** Custom resources in a test's cluster: the controllers handle them like other objects. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigMaps, CustomResourceDefinitions, ResourceQuotas } from '../api/gen/resources.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import { isReason } from '../api/status-error.ts';
import { Cluster } from './cluster.ts';

const DEFINITION = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer, default: 1}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`;

const WIDGET = `
apiVersion: example.com/v1
kind: Widget
metadata: {name: a}
spec: {}
`;

const Widgets: ResourceInfo<KubernetesObject & { spec?: { size?: number } }> = {
  group: 'example.com',
  version: 'v1',
  resource: 'widgets',
  kind: 'Widget',
  listKind: 'WidgetList',
  singular: 'widget',
  namespaced: true,
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
  shortNames: [],
  categories: [],
};

describe('custom resources in a cluster', () => {
  it('are applied together with their definition, defaulted, and waited for', async () => {
    await using cluster = await Cluster.start({ nodes: 0 });
    await cluster.apply(`${DEFINITION}---${WIDGET}`);
    const made = await cluster.waitFor<KubernetesObject & { spec?: { size?: number } }>('widget/a', 'exists');
    assert.equal(made.spec?.size, 1);
    await cluster.client
      .resource(Widgets)
      .patch({ namespace: 'default', name: 'a' }, { type: 'merge', patch: { metadata: { labels: { x: 'y' } } } });
    await cluster.waitFor('widget/a', '.metadata.labels.x=y');
  });

  it('own dependents, and are deleted with their namespace', async () => {
    await using cluster = await Cluster.start({ nodes: 0 });
    await cluster.apply(`${DEFINITION}---${WIDGET}---
apiVersion: v1
kind: Namespace
metadata: {name: other}
`);
    const [owner] = await cluster.apply(WIDGET);
    await cluster.advance('31s'); // The garbage collector discovers new kinds every half minute.
    const reference = { apiVersion: 'example.com/v1', kind: 'Widget', name: 'a', uid: owner!.metadata.uid! };
    await cluster.client
      .resource(ConfigMaps)
      .create({ metadata: { name: 'owned', namespace: 'default', ownerReferences: [reference] } });
    await cluster.client.resource(Widgets).delete({ namespace: 'default', name: 'a' });
    await cluster.waitFor('configmap/owned', 'deleted');
    await cluster.apply({ ...owner, metadata: { name: 'b', namespace: 'other' } });
    await cluster.waitFor('widget/other/b', 'exists');
    await cluster.client.raw({ method: 'DELETE', path: '/api/v1/namespaces/other' });
    await cluster.waitFor('namespace/other', 'deleted');
    assert.equal((await cluster.client.resource(Widgets).list({})).items.length, 0);
  });

  it('are counted by quotas and allowed by roles', async () => {
    await using cluster = await Cluster.start({ nodes: 0 });
    await cluster.apply(DEFINITION);
    await cluster.client.resource(ResourceQuotas).create({
      metadata: { name: 'q', namespace: 'default' },
      spec: { hard: { 'count/widgets.example.com': '1' } },
    });
    const widgets = cluster.client.resource(Widgets);
    await cluster.eventually(() =>
      widgets.create({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'one', namespace: 'default' } }),
    );
    await assert.rejects(
      widgets.create({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'two', namespace: 'default' } }),
      /exceeded quota: q, requested: count\/widgets\.example\.com=1, used: count\/widgets\.example\.com=1/,
    );
    await cluster.apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: [{apiGroups: [example.com], resources: [widgets], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: jane}]
`);
    const jane = cluster.clientFor({ name: 'jane', groups: ['system:authenticated'] }).resource(Widgets);
    assert.equal((await jane.get({ namespace: 'default', name: 'one' })).metadata.name, 'one');
    await assert.rejects(jane.delete({ namespace: 'default', name: 'one' }), (error) => isReason(error, 'Forbidden'));
  });

  it('survive restarts of the server, and are deleted with their definition', async () => {
    await using cluster = await Cluster.start({ nodes: 0 });
    await cluster.apply(`${DEFINITION}---${WIDGET}`);
    await cluster.restore(await cluster.snapshot());
    assert.equal((await cluster.client.resource(Widgets).list({})).items.length, 1);
    await cluster.client.resource(CustomResourceDefinitions).delete({ name: 'widgets.example.com' });
    await cluster.waitFor('crd/widgets.example.com', 'deleted');
    await assert.rejects(cluster.client.resource(Widgets).list({}), (error) => isReason(error, 'NotFound'));
  });
});

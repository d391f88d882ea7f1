/**
 * Managed fields are computed before mutating admission and the strategy. So a client that migrates from client-side to
 * server-side apply meets no conflict about a field it never sent.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesObject } from '../api/object.ts';
import { startWithAll } from './all-resources-fixture.ts';
import type { AdmissionPlugin } from './admission/contract.ts';

const container = { name: 'c', image: 'i' };
const podSpec = { containers: [container] };
const template = { metadata: { labels: { app: 'a' } }, spec: podSpec };
const neverTemplate = { ...template, spec: { ...podSpec, restartPolicy: 'Never' } };
const selector = { matchLabels: { app: 'a' } };
const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };

/** Path of the collection, kind, and further fields of the object. */
const samples: readonly [string, string, object][] = [
  ['api/v1/namespaces/default/services', 'Service', { spec: { ports: [{ port: 80 }] } }],
  ['api/v1/namespaces/default/services', 'Service', { spec: { clusterIP: 'None', ports: [{ port: 80 }] } }],
  ['api/v1/namespaces/default/services', 'Service', { spec: { type: 'NodePort', ports: [{ port: 80 }] } }],
  ['api/v1/namespaces/default/services', 'Service', { spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } }],
  ['api/v1/namespaces/default/pods', 'Pod', { spec: podSpec }],
  ['api/v1/namespaces/default/pods', 'Pod', { spec: { ...podSpec, hostNetwork: true } }],
  ['api/v1/namespaces/default/configmaps', 'ConfigMap', { data: { a: 'b' } }],
  ['api/v1/namespaces/default/secrets', 'Secret', { stringData: { a: 'b' } }],
  ['api/v1/namespaces/default/serviceaccounts', 'ServiceAccount', {}],
  ['api/v1/namespaces/default/persistentvolumeclaims', 'PersistentVolumeClaim', { spec: claim }],
  ['api/v1/namespaces', 'Namespace', {}],
  ['api/v1/nodes', 'Node', {}],
  ['apis/apps/v1/namespaces/default/deployments', 'Deployment', { spec: { selector, template } }],
  ['apis/apps/v1/namespaces/default/daemonsets', 'DaemonSet', { spec: { selector, template } }],
  [
    'apis/apps/v1/namespaces/default/statefulsets',
    'StatefulSet',
    {
      spec: { selector, template, serviceName: 's', volumeClaimTemplates: [{ metadata: { name: 'v' }, spec: claim }] },
    },
  ],
  ['apis/batch/v1/namespaces/default/jobs', 'Job', { spec: { template: neverTemplate } }],
  [
    'apis/batch/v1/namespaces/default/cronjobs',
    'CronJob',
    { spec: { schedule: '@daily', jobTemplate: { spec: { template: neverTemplate } } } },
  ],
  [
    'apis/networking.k8s.io/v1/namespaces/default/ingresses',
    'Ingress',
    { spec: { defaultBackend: { service: { name: 's', port: { number: 80 } } } } },
  ],
  ['apis/networking.k8s.io/v1/namespaces/default/networkpolicies', 'NetworkPolicy', { spec: { podSelector: {} } }],
  ['apis/policy/v1/namespaces/default/poddisruptionbudgets', 'PodDisruptionBudget', { spec: { selector } }],
  ['apis/scheduling.k8s.io/v1/priorityclasses', 'PriorityClass', { value: 10 }],
  ['apis/storage.k8s.io/v1/storageclasses', 'StorageClass', { provisioner: 'p' }],
];

/** Sets immutable fields: volumes, tolerations and a priority of pods; an annotation elsewhere. */
const mutating: AdmissionPlugin = {
  name: 'Adds',
  handles: (operation, _, subresource) => operation === 'CREATE' && subresource === '',
  mutate({ object }) {
    const draft = object as KubernetesObject & { spec?: Record<string, unknown> };
    if (draft.kind !== 'Pod') {
      draft.metadata.annotations = { ...draft.metadata.annotations, added: 'x' };
      return;
    }
    draft.spec!['volumes'] = [{ name: 'token', emptyDir: {} }];
    draft.spec!['tolerations'] = [{ key: 'added', operator: 'Exists' }];
    draft.spec!['priority'] = 3;
  },
};

for (const [path, kind, content] of samples)
  test(`${kind} ${JSON.stringify(content).slice(0, 60)}: moves to server-side apply unchanged`, async () => {
    const { send } = await startWithAll([mutating]);
    const group = path.split('/');
    const apiVersion = group[0] === 'api' ? 'v1' : `${group[1]}/${group[2]}`;
    const config = { apiVersion, kind, metadata: { name: 'x', labels: { a: 'b' } }, ...content };
    const made = await send('POST', `/${path}?fieldManager=kubectl-client-side-apply`, config);
    assert.equal(made.status, 201, made.text);
    const [entry, ...others] = made.body.metadata.managedFields as { fieldsV1: object }[];
    assert.deepEqual(others, []);
    assert.doesNotMatch(
      JSON.stringify(entry),
      /added|token|f:clusterIPs|f:nodePort|f:uid|controller-uid|f:selector":\{"f:matchLabels":\{"f:batch/,
    );
    // As kubectl migrates: its own entry becomes an apply, then the configuration is applied without force.
    const managedFields = [{ ...entry, manager: 'kubectl', operation: 'Apply' }];
    const moved = await send(
      'PATCH',
      `/${path}/x`,
      [{ op: 'replace', path: '/metadata/managedFields', value: managedFields }],
      { 'content-type': 'application/json-patch+json' },
    );
    assert.equal(moved.status, 200, moved.text);
    const applied = await send('PATCH', `/${path}/x?fieldManager=kubectl`, config, {
      'content-type': 'application/apply-patch+yaml',
    });
    assert.equal(applied.status, 200, applied.text);
    const bare = ({ metadata, ...rest }: KubernetesObject): object => ({
      ...rest,
      metadata: { ...metadata, managedFields: undefined, resourceVersion: undefined, annotations: undefined },
    });
    assert.deepEqual(bare(applied.body as KubernetesObject), bare(made.body as KubernetesObject));
  });

test('fields that admission adds on an update have no manager', async () => {
  const onUpdate: AdmissionPlugin = {
    name: 'Adds',
    handles: (operation) => operation === 'UPDATE',
    mutate({ object }) {
      const draft = object as KubernetesObject & { data: Record<string, string> };
      draft.data = { ...draft.data, added: 'x' };
    },
  };
  const { send } = await startWithAll([onUpdate]);
  const path = '/api/v1/namespaces/default/configmaps';
  const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data: { a: 'b' } };
  await send('POST', `${path}?fieldManager=one`, config);
  const put = await send('PUT', `${path}/x?fieldManager=two`, { ...config, data: { a: 'b', c: 'd' } });
  assert.equal(put.body['data'].added, 'x');
  const owned = (put.body.metadata.managedFields as { manager: string; fieldsV1: object }[]).map(
    ({ manager, fieldsV1 }) => [manager, fieldsV1],
  );
  assert.deepEqual(owned, [
    ['one', { 'f:data': { '.': {}, 'f:a': {} } }],
    ['two', { 'f:data': { 'f:c': {} } }],
  ]);
});

test('managed fields that admission makes unreadable are put back, with a warning', async () => {
  const breaking: AdmissionPlugin = {
    name: 'Breaks',
    handles: () => true,
    mutate({ object }) {
      object!.metadata.managedFields = [{ manager: 'm', operation: 'Nonsense' }];
    },
  };
  const { send } = await startWithAll([breaking]);
  const path = '/api/v1/namespaces/default/configmaps';
  const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data: { a: 'b' } };
  const made = await send('POST', `${path}?fieldManager=one`, config);
  assert.equal(made.body.metadata.managedFields?.[0]?.manager, 'one');
  assert.match(String(made.headers['warning']), /managedFields was in an invalid state after admission/);
});

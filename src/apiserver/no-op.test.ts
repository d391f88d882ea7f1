import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWithAll } from './all-resources-fixture.ts';

const template = {
  metadata: { labels: { a: 'b' } },
  spec: {
    restartPolicy: 'Always',
    containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80 }], stdin: false }],
  },
};
const selector = { matchLabels: { a: 'b' } };
const NS = 'namespaces/default';

/** Path, manifest, status where the kind has one. */
const kinds: readonly (readonly [string, object, object?])[] = [
  [`/api/v1/${NS}/configmaps`, { data: { a: '1' }, binaryData: {} }],
  [`/api/v1/${NS}/secrets`, { stringData: { a: '1' } }],
  [
    `/api/v1/${NS}/pods`,
    template,
    {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True', observedGeneration: 0 }],
      hostIP: '',
      containerStatuses: [],
    },
  ],
  [`/api/v1/${NS}/services`, { spec: { ports: [{ port: 80 }], selector: {} } }, { loadBalancer: { ingress: [] } }],
  [
    '/api/v1/nodes',
    { spec: { unschedulable: false } },
    { conditions: [{ type: 'Ready', status: 'True' }], images: [], volumesInUse: [] },
  ],
  ['/api/v1/namespaces', {}, { phase: 'Active', conditions: [] }],
  [`/api/v1/${NS}/serviceaccounts`, { secrets: [] }],
  [
    `/api/v1/${NS}/persistentvolumeclaims`,
    { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1024Mi' } } } },
    { phase: 'Pending', capacity: {} },
  ],
  [
    `/apis/apps/v1/${NS}/deployments`,
    { spec: { replicas: 0, selector, template, paused: false } },
    { replicas: 0, observedGeneration: 1, collisionCount: 0, conditions: [] },
  ],
  [`/apis/apps/v1/${NS}/replicasets`, { spec: { selector, template } }, { replicas: 0, readyReplicas: 0 }],
  [
    `/apis/apps/v1/${NS}/statefulsets`,
    { spec: { selector, template, serviceName: '' } },
    { replicas: 0, collisionCount: 0 },
  ],
  [`/apis/apps/v1/${NS}/daemonsets`, { spec: { selector, template } }, { currentNumberScheduled: 0, numberReady: 0 }],
  [
    `/apis/batch/v1/${NS}/jobs`,
    { spec: { template: { spec: { ...template.spec, restartPolicy: 'Never' } }, suspend: false } },
    { active: 0, terminating: 0, ready: 0 },
  ],
  [
    `/apis/batch/v1/${NS}/cronjobs`,
    {
      spec: {
        schedule: '* * * * *',
        jobTemplate: { spec: { template: { spec: { ...template.spec, restartPolicy: 'Never' } } } },
      },
    },
    { active: [] },
  ],
  [
    `/apis/autoscaling/v1/${NS}/horizontalpodautoscalers`,
    { spec: { maxReplicas: 3, scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' } } },
    { currentReplicas: 0, desiredReplicas: 0 },
  ],
  [
    `/apis/policy/v1/${NS}/poddisruptionbudgets`,
    { spec: { minAvailable: 0, selector } },
    { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, conditions: [] },
  ],
  [
    `/apis/networking.k8s.io/v1/${NS}/networkpolicies`,
    { spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [] } },
  ],
  [`/apis/coordination.k8s.io/v1/${NS}/leases`, { spec: { holderIdentity: '', leaseTransitions: 0 } }],
  ['/apis/rbac.authorization.k8s.io/v1/clusterroles', { rules: [] }],
  ['/apis/storage.k8s.io/v1/storageclasses', { provisioner: 'x.example.com', parameters: {} }],
];

test('a write without changes raises no resourceVersion and sends no event', async (t) => {
  const { send, storage } = await startWithAll();
  for (const [path, manifest, status] of kinds) {
    await t.test(path, async () => {
      const made = await send('POST', path, { ...manifest, metadata: { name: 'x', labels: {}, annotations: {} } });
      assert.equal(made.status, 201, made.text);
      const self = `${path}/x`;
      const unchanged = async (
        what: string,
        method: string,
        at: string,
        body: unknown,
        type = 'application/json',
      ): Promise<void> => {
        const before = storage.hub.revision;
        const answer = await send(method, at, body, { 'content-type': type, 'user-agent': 'another/1' });
        assert.equal(answer.status, 200, `${what}: ${answer.text}`);
        assert.equal(storage.hub.revision, before, `${what} wrote ${answer.text}`);
      };
      const read = async (): Promise<object> => (await send('GET', self)).body as object;
      await unchanged('PUT of what was read', 'PUT', self, await read());
      await unchanged('empty merge patch', 'PATCH', self, {}, 'application/merge-patch+json');
      await unchanged(
        'zeros',
        'PATCH',
        self,
        { metadata: { labels: {}, annotations: {}, finalizers: [], generateName: '' } },
        'application/strategic-merge-patch+json',
      );
      if (status === undefined) return;
      const written = await send(
        'PATCH',
        `${self}/status`,
        { status },
        { 'content-type': 'application/merge-patch+json' },
      );
      assert.equal(written.status, 200, written.text);
      await unchanged('status PUT', 'PUT', `${self}/status`, await read());
      await unchanged('status patch', 'PATCH', `${self}/status`, { status }, 'application/merge-patch+json');
      await unchanged('PUT after status', 'PUT', self, await read());
    });
  }
});

test('managed fields can be cleared, and are not written again when only their times differ', async () => {
  const { send, platform } = await startWithAll();
  const path = '/api/v1/namespaces/default/configmaps';
  await send('POST', path, { metadata: { name: 'm' }, data: { a: '1' } });
  const apply = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm' }, data: { a: '1' } };
  const applying = (): ReturnType<typeof send> =>
    send('PATCH', `${path}/m?fieldManager=f`, apply, { 'content-type': 'application/apply-patch+yaml' });
  const first = await applying();
  await platform.clock.advance(5000);
  const second = await applying();
  assert.equal(second.body.metadata.resourceVersion, first.body.metadata.resourceVersion);
  const cleared = await send(
    'PATCH',
    `${path}/m`,
    { metadata: { managedFields: [{}] } },
    { 'content-type': 'application/merge-patch+json' },
  );
  assert.equal(cleared.body.metadata.managedFields, undefined);
  assert.notEqual(cleared.body.metadata.resourceVersion, first.body.metadata.resourceVersion);
});

import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  ClusterRoles,
  ConfigMaps,
  CronJobs,
  DaemonSets,
  Deployments,
  Endpoints as EndpointsInfo,
  HorizontalPodAutoscalers,
  Jobs,
  Namespaces,
  PersistentVolumeClaims,
  PersistentVolumes,
  PodDisruptionBudgets,
  ReplicationControllers,
  ResourceQuotas,
  Secrets,
  Services,
  StatefulSets,
  ValidatingAdmissionPolicies,
} from '../api/gen/resources.ts';
import { exclusiveWrites } from './exclusive-writes-list.ts';
import { controllers } from './list.ts';
import { startServerHarness, type ServerHarness } from './server-harness-fixture.ts';
import { watchWrites } from './write-watch-fixture.ts';

/** What needs parts that are not here: other machines, signers, drivers. Each has tests of its own. */
const ELSEWHERE = [
  'attachdetach-controller nodes status.volumesAttached',
  'attachdetach-controller volumeattachments creation',
  'certificate-controller certificatesigningrequests status.certificate',
  'ephemeral-volume-controller persistentvolumeclaims creation',
  'legacy-service-account-token-cleaner secrets metadata.labels.kubernetes.io/legacy-token-invalid-since',
  'local-path-provisioner persistentvolumes creation',
  // An object without a field has no managed fields: who made it does not show.
  'service-account-controller serviceaccounts creation',
];

const RULE = { apiGroups: [''], resources: ['pods'], verbs: ['get'] };

const statements = Object.values(exclusiveWrites);

it('no controller writes what another says it alone writes', async () => {
  const h = await startServerHarness(Object.values(controllers), {
    clusterCidrs: ['10.42.0.0/16'],
    rootCaPem: 'the authority',
    signServiceAccountToken: async () => 'token',
  });
  const managerOf = (account: string): string => (account === 'manager' ? 'kube-controller-manager' : account);
  const watch = watchWrites(h.store, statements, { managerOf, people: ['kubectl', 'unknown', ''] });
  await h.addNode('node');
  await makeOneOfEach(h);
  await h.run(70_000, { stepMs: 1000 });
  await change(h);
  await h.run(70_000, { stepMs: 1000 });
  assert.deepEqual([...watch.violations], []);
  assert.deepEqual([...new Set(names())].filter((name) => !watch.seen.has(name)).sort(), ELSEWHERE);
  watch.stop();
  await h.stop();
});

/** Every statement by name. */
function names(): string[] {
  return statements.flatMap(({ account, writes }) =>
    writes.flatMap(({ resource, creates, fields = [] }) =>
      [...(creates === true ? ['creation'] : []), ...fields.map((path) => path.join('.'))].map(
        (what) => `${account} ${resource.resource} ${what}`,
      ),
    ),
  );
}

async function makeOneOfEach(h: ServerHarness): Promise<void> {
  const containers = [{ name: 'c', image: 'i', resources: { requests: { cpu: '10m' } } }];
  const workload = (app: string): object => ({
    selector: { matchLabels: { app } },
    template: { metadata: { labels: { app } }, spec: { containers } },
  });
  const job = { template: { spec: { restartPolicy: 'Never', containers } } };
  await h.create(ResourceQuotas, { metadata: { name: 'q' }, spec: { hard: { pods: '50' } } });
  await h.run(500);
  await h.create(PersistentVolumes, {
    metadata: { name: 'v' },
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/data' } },
  });
  await h.create(PersistentVolumeClaims, {
    metadata: { name: 'c' },
    spec: { storageClassName: '', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  });
  await h.create(Deployments, { metadata: { name: 'd' }, spec: { replicas: 2, ...workload('d') } });
  await h.create(ReplicationControllers, {
    metadata: { name: 'rc' },
    spec: {
      replicas: 1,
      selector: { app: 'rc' },
      template: { metadata: { labels: { app: 'rc' } }, spec: { containers } },
    },
  });
  await h.create(DaemonSets, { metadata: { name: 's' }, spec: workload('s') });
  await h.create(StatefulSets, { metadata: { name: 't' }, spec: { replicas: 2, serviceName: 't', ...workload('t') } });
  await h.create(Jobs, { metadata: { name: 'j' }, spec: job });
  await h.create(CronJobs, { metadata: { name: 'cj' }, spec: { schedule: '* * * * *', jobTemplate: { spec: job } } });
  await h.create(PodDisruptionBudgets, {
    metadata: { name: 'b' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'd' } } },
  });
  await h.create(HorizontalPodAutoscalers, {
    metadata: { name: 'a' },
    spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }, minReplicas: 2, maxReplicas: 4 },
  });
  await h.create(Services, { metadata: { name: 'd' }, spec: { selector: { app: 'd' }, ports: [{ port: 80 }] } });
  await h.create(Services, { metadata: { name: 'hand' }, spec: { ports: [{ port: 80 }] } });
  await h.create(EndpointsInfo, {
    metadata: { name: 'hand' },
    subsets: [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ port: 80 }] }],
  });
  await h.create(Namespaces, { metadata: { name: 'gone' } });
  await h.create(ConfigMaps, { metadata: { namespace: 'gone', name: 'held', finalizers: ['test/hold'] } });
  await h.create(ClusterRoles, { metadata: { name: 'part', labels: { part: 'yes' } }, rules: [RULE] });
  await h.create(ClusterRoles, {
    metadata: { name: 'whole' },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: 'yes' } }] },
  });
  await h.create(ValidatingAdmissionPolicies, {
    metadata: { name: 'p' },
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['deployments'] },
        ],
      },
      validations: [{ expression: 'object.spec.replicas < 100' }],
    },
  });
  await h.create(Secrets, {
    metadata: { name: 'token', annotations: { 'kubernetes.io/service-account.name': 'default' } },
    type: 'kubernetes.io/service-account-token',
  });
}

/** A roll-out, a resize, ends, and deletions. */
async function change(h: ServerHarness): Promise<void> {
  await h.update(Deployments, 'default/d', (draft) => {
    draft.spec!.template.spec!.containers[0]!.image = 'i2';
    draft.spec!.replicas = 3;
  });
  await h.update(StatefulSets, 'default/t', (draft) => void (draft.spec!.template.spec!.containers[0]!.image = 'i2'));
  await h.update(DaemonSets, 'default/s', (draft) => void (draft.spec!.template.spec!.containers[0]!.image = 'i2'));
  for (const pod of await h.pods()) if (/^(j|cj)-/.test(pod.metadata.name ?? '')) await h.finish(pod, 'Succeeded');
  await h.remove(Namespaces, 'gone');
  await h.remove(ReplicationControllers, 'default/rc');
  await h.remove(PersistentVolumeClaims, 'default/c');
}

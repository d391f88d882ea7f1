/** A cluster with something to do for most controllers. For tests. */
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
  ServiceCIDRs,
  Services,
  StatefulSets,
  ValidatingAdmissionPolicies,
} from '../api/gen/resources.ts';
import type { ServerHarness } from './server-harness-fixture.ts';

const RULE = { apiGroups: [''], resources: ['pods'], verbs: ['get'] };

/** Objects of the kinds that built-in controllers look after; needs a node named `node`. */
export async function makeOneOfEach(h: ServerHarness): Promise<void> {
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
  await makeServices(h);
  await makeRules(h);
}

async function makeServices(h: ServerHarness): Promise<void> {
  await h.create(ServiceCIDRs, { metadata: { name: 'kubernetes' }, spec: { cidrs: ['10.43.0.0/16'] } });
  await h.create(Services, { metadata: { name: 'd' }, spec: { selector: { app: 'd' }, ports: [{ port: 80 }] } });
  await h.create(Services, { metadata: { name: 'hand' }, spec: { ports: [{ port: 80 }] } });
  await h.create(EndpointsInfo, {
    metadata: { name: 'hand' },
    subsets: [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ port: 80 }] }],
  });
}

async function makeRules(h: ServerHarness): Promise<void> {
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

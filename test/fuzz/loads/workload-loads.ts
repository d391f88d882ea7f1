// Workloads, their claims and budgets. Each list is as long as the API server accepts.
import { times, type Load } from './load.ts';
import { labels, container, meta, pod, workload, claimTemplate, requirement, quota } from './parts.ts';

/** As many budgets as pods, each with a selector of fifty requirements that match all pods. */
const budgetsOfPods = (name: string, count: number): Load => ({
  name,
  *objects() {
    for (const at of times(count, (n) => n)) yield pod(`p${at}`);
    for (const at of times(count, (n) => n))
      yield {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: meta(`b${at}`),
        spec: { minAvailable: 1, selector: { matchExpressions: times(50, (n) => requirement(n)) } },
      };
  },
});

export const workloadLoads: readonly Load[] = [
  {
    name: 'claim templates × replicas',
    *objects() {
      yield quota({ pods: '50', persistentvolumeclaims: '500' });
      yield workload('StatefulSet', {
        replicas: 20_000,
        serviceName: 's',
        podManagementPolicy: 'Parallel',
        volumeClaimTemplates: times(6000, claimTemplate),
      });
    },
  },
  {
    name: 'claim templates × claims of others',
    *objects() {
      yield quota({ persistentvolumeclaims: '1000' });
      yield workload('StatefulSet', {
        replicas: 2,
        serviceName: 's',
        volumeClaimTemplates: times(4000, claimTemplate),
      });
    },
  },
  {
    name: 'replicas of the largest number',
    *objects() {
      yield quota({ pods: '300' });
      for (const kind of ['Deployment', 'ReplicaSet', 'StatefulSet'])
        yield workload(
          kind,
          {
            replicas: 2 ** 31 - 1,
            ...(kind === 'StatefulSet' && { serviceName: 's', podManagementPolicy: 'Parallel' }),
          },
          { nodeName: 'absent' },
        );
    },
  },
  {
    name: 'reserved ordinals',
    *objects() {
      yield workload('StatefulSet', { replicas: 3, serviceName: 's', ordinals: { start: 2 ** 31 - 2 } });
    },
  },
  {
    name: 'indexed jobs',
    *objects() {
      yield quota({ pods: '300' });
      const template = { spec: { restartPolicy: 'Never', nodeName: 'absent', containers: [container] } };
      yield {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: meta('j'),
        spec: {
          completions: 2 ** 31 - 1,
          parallelism: 1,
          completionMode: 'Indexed',
          backoffLimitPerIndex: 2 ** 31 - 1,
          maxFailedIndexes: 10_000,
          template,
        },
      };
      yield {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: meta('k'),
        spec: { completions: 100_000, parallelism: 100_000, completionMode: 'Indexed', template },
      };
    },
  },
  {
    name: 'requirements of one selector × pods',
    *objects() {
      for (const at of times(200, (n) => n)) yield pod(`p${at}`);
      const selector = { matchExpressions: times(1000, (at) => requirement(at)) };
      yield {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        metadata: meta('r'),
        spec: {
          replicas: 3,
          selector: { ...selector, matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [container] } },
        },
      };
      yield {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: meta('b'),
        spec: { minAvailable: 1, selector },
      };
    },
  },
  budgetsOfPods('budgets × pods', 100),
  budgetsOfPods('many budgets × pods', 500),
  {
    name: 'claims × volumes',
    *objects() {
      for (const at of times(300, (n) => n))
        yield {
          apiVersion: 'v1',
          kind: 'PersistentVolume',
          metadata: { name: `v${at}`, labels: { [`k${at}`]: 'x' } },
          spec: {
            capacity: { storage: '1Gi' },
            accessModes: ['ReadWriteOnce'],
            storageClassName: 'x',
            hostPath: { path: '/tmp/x' },
          },
        };
      for (const at of times(300, (n) => n))
        yield {
          apiVersion: 'v1',
          kind: 'PersistentVolumeClaim',
          metadata: meta(`c${at}`),
          spec: {
            accessModes: ['ReadWriteOnce'],
            storageClassName: 'x',
            selector: { matchExpressions: times(300, (n) => requirement(n, 'In')) },
            resources: { requests: { storage: '1Gi' } },
          },
        };
    },
  },
  {
    name: 'autoscaler metrics × pods',
    *objects() {
      yield workload('Deployment', { replicas: 100 });
      const metrics = times(5000, (at) => ({
        type: 'Pods',
        pods: { metric: { name: `m${at}` }, target: { type: 'AverageValue', averageValue: '1' } },
      }));
      const policies = times(5000, () => ({ type: 'Pods', value: 1, periodSeconds: 1800 }));
      yield {
        apiVersion: 'autoscaling/v2',
        kind: 'HorizontalPodAutoscaler',
        metadata: meta('h'),
        spec: {
          maxReplicas: 2 ** 31 - 1,
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'deployment' },
          metrics,
          behavior: { scaleUp: { policies }, scaleDown: { policies, stabilizationWindowSeconds: 3600 } },
        },
      };
    },
  },
  {
    name: 'cron jobs that missed many starts',
    *objects() {
      const jobTemplate = { spec: { template: { spec: { restartPolicy: 'Never', containers: [container] } } } };
      for (const schedule of ['* * * * *', '0 0 29 2 *', '0 0 31 2 *', '*/1 * 29 2 1'])
        yield {
          apiVersion: 'batch/v1',
          kind: 'CronJob',
          metadata: meta(`c${schedule.replaceAll(/[^0-9]/g, '')}`, { creationTimestamp: '1970-01-01T00:00:00Z' }),
          spec: {
            schedule,
            jobTemplate,
            startingDeadlineSeconds: 2 ** 53 - 1,
            successfulJobsHistoryLimit: 2 ** 31 - 1,
          },
        };
    },
  },
];

/** `rest` in clusters with anomalies that are no disagreements; agreement.test.ts tests what it reports. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CronJobs } from '../api/gen/resources.ts';
import { Cluster } from './cluster.ts';
import type { ClusterOptions } from './cluster-options.ts';
import { expectRest } from './scenario-expectations.ts';

const spec = { containers: [{ name: 'c', image: 'web:1' }] };
const labels = { app: 'web' };
const template = { metadata: { labels }, spec };
const selector = { matchLabels: labels };
const pod = (metadata: object, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', labels, ...metadata },
  spec: { ...spec, ...more },
});
const job = (metadata: object) => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata,
  spec: { template: { metadata: { labels }, spec: { ...spec, restartPolicy: 'Never' } } },
});
const deployment = (replicas: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: { replicas, selector, template },
});

async function deployed(cluster: Cluster): Promise<void> {
  await cluster.apply(deployment(1));
  await cluster.waitFor('deployment/web', 'Available');
}

const CASES: readonly [name: string, act: (cluster: Cluster) => Promise<unknown>, options?: ClusterOptions][] = [
  ['few controllers', async () => undefined, { controllers: ['replicaset-controller'] }],
  [
    'controllers that crashed',
    async (cluster) => {
      await deployed(cluster);
      await cluster.faults.crash('controllers');
      await cluster.apply(deployment(2));
    },
  ],
  [
    'controllers out of reach',
    async (cluster) => {
      await deployed(cluster);
      cluster.faults.disconnect('controllers');
      await cluster.apply(deployment(2));
    },
  ],
  [
    'a kubelet out of reach, and a pod of its that was deleted',
    async (cluster) => {
      await cluster.apply(pod({}));
      await cluster.waitFor('pod/p', 'Ready');
      cluster.faults.disconnect('kubelet/node-1');
      await cluster.waitFor('node/node-1', 'Ready=Unknown');
      await cluster.client.resource(cluster.resolve('pod/p').info).delete({ namespace: 'default', name: 'p' });
    },
  ],
  [
    'a budget over pods that nobody can scale',
    async (cluster) => {
      await cluster.apply([
        job({ name: 'j' }),
        {
          apiVersion: 'policy/v1',
          kind: 'PodDisruptionBudget',
          metadata: { name: 'b' },
          spec: { selector, maxUnavailable: 1 },
        },
      ]);
      await cluster.waitFor('poddisruptionbudget/b', 'DisruptionAllowed=False');
    },
  ],
  [
    'services whose endpoints are not ours',
    async (cluster) => {
      await cluster.apply([
        pod({}),
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'elsewhere' },
          spec: { type: 'ExternalName', externalName: 'example.com', selector: labels },
        },
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'by-hand' },
          spec: { selector: {}, ports: [{ port: 80 }] },
        },
      ]);
      await cluster.waitFor('pod/p', 'Ready');
    },
  ],
  [
    'daemons that stay on a node that wants no new ones',
    async (cluster) => {
      await cluster.apply({
        apiVersion: 'apps/v1',
        kind: 'DaemonSet',
        metadata: { name: 'd' },
        spec: { selector, template },
      });
      await cluster.waitFor('daemonset/d', '.status.numberReady=1');
      const taints = [{ key: 'reserved', effect: 'NoSchedule' }];
      await cluster.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' }, spec: { taints } });
      await cluster.waitFor('daemonset/d', '.status.numberMisscheduled=1');
    },
  ],
  [
    'a pod that a finalizer holds on a node that is no more',
    async (cluster) => {
      await cluster.apply(pod({ finalizers: ['example.com/hold'] }));
      await cluster.waitFor('pod/p', 'Ready');
      await cluster.nodes.remove('node-1');
      await cluster.waitFor<{ metadata: { deletionTimestamp?: string } } & ReturnType<typeof pod>>(
        'pod/p',
        ({ metadata }) => metadata.deletionTimestamp !== undefined,
      );
    },
  ],
  [
    'a job made by hand of a cron job',
    async (cluster) => {
      const { metadata } = await cluster.client.resource(CronJobs).create({
        metadata: { namespace: 'default', name: 'cron' },
        spec: { schedule: '0 0 1 1 *', jobTemplate: { spec: job({}).spec } },
      });
      const owner = { apiVersion: 'batch/v1', kind: 'CronJob', name: 'cron', uid: metadata.uid, controller: true };
      const annotations = { 'cronjob.kubernetes.io/instantiate': 'manual' };
      await cluster.apply(job({ name: 'by-hand', annotations, ownerReferences: [owner] }));
      await cluster.waitFor('job/by-hand', '.status.ready=1');
    },
  ],
];

describe('a cluster is at rest with', () => {
  for (const [name, act, options = {}] of CASES)
    it(name, async () => {
      await using cluster = await Cluster.start(options);
      await act(cluster);
      await expectRest(cluster, '10m');
    });
});

describe('the end of a rest', () => {
  it('nothing is reported while the API server is down', async () => {
    await using cluster = await Cluster.start({ nodes: 0 });
    await cluster.faults.crash('apiserver');
    await assert.rejects(expectRest(cluster, '1m'), /the API server is down/);
  });
});

/**
 * What tests of a platform ask of a cluster: a rolling update without an outage, the loss of a machine, the turn of a month.
 * All on virtual time: minutes and hours take as long as their events take to compute.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cluster, image, Jobs, Pods } from 'keelson/testing';

const web = (version: string): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 4,
    strategy: { rollingUpdate: { maxUnavailable: 1, maxSurge: 1 } },
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: `web:${version}` }] },
    },
  },
});

test('a rolling update never has fewer than three ready', async () => {
  await using cluster = await Cluster.start({ nodes: 2, images: [image('web:2', { start: '5s' })] });
  await cluster.apply(web('1'));
  await cluster.waitFor('deployment/web', 'Available');
  let fewest = Infinity;
  cluster.onPodChange(() => {
    const ready = cluster
      .peek(Pods)
      .filter(({ status }) => status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'));
    fewest = Math.min(fewest, ready.length);
  });
  await cluster.apply(web('2'));
  await cluster.waitFor('deployment/web', '.status.updatedReplicas=4', { within: '2m' });
  await cluster.waitFor('deployment/web', '.status.availableReplicas=4', { within: '2m' });
  assert.equal(fewest, 3);
});

test('pods of a machine that is lost come up elsewhere, once it is sure that it is lost', async () => {
  await using cluster = await Cluster.start({ nodes: 2 });
  await cluster.apply(web('1'));
  await cluster.waitFor('deployment/web', '.status.availableReplicas=4');
  await cluster.nodes.crash('node-1');
  await cluster.advance('2m');
  assert.equal(cluster.events({ about: 'node/node-1', reason: 'NodeNotReady' }).length, 1);
  await cluster.waitFor('deployment/web', '.status.availableReplicas=4', { within: '10m' });
  const running = cluster.peek(Pods).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  assert.ok(running.every(({ spec }) => spec?.nodeName === 'node-2'));
});

test('a monthly job runs at the turn of the month in its time zone', async () => {
  await using cluster = await Cluster.start({
    startAt: '2026-02-28T22:30:00Z',
    images: [image('report:1', { exits: { code: 0, after: '20s' } })],
  });
  await cluster.apply(`
apiVersion: batch/v1
kind: CronJob
metadata: { name: report }
spec:
  schedule: '0 0 1 * *'
  timeZone: Europe/Berlin
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{ name: report, image: 'report:1' }]
`);
  await cluster.advance('29m');
  assert.equal(cluster.peek(Jobs).length, 0);
  await cluster.advance('2m');
  assert.deepEqual(
    cluster.peek(Jobs).map(({ status }) => [status?.startTime, status?.succeeded]),
    [['2026-02-28T23:00:00Z', 1]],
  );
});

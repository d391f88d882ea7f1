/** A fixture, matchers and a snapshot in vitest. */
import { expect, test as base } from 'vitest';
import { image, type Cluster } from 'keelson/testing';
import { clusterFixture, eventStory, matchers, type ClusterMatchers } from 'keelson/testing/vitest';

declare module 'vitest' {
  interface Matchers<R, T> extends ClusterMatchers {}
}

expect.extend(matchers);
const test = base.extend<{ cluster: Cluster }>(clusterFixture({ nodes: 2, images: [image('web:1', { start: '2s' })] }));

const web = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
  },
};

test('a deployment gets ready', async ({ cluster }) => {
  await cluster.apply(web);
  await expect(cluster).not.toBeReady('deployment/web');
  await expect(cluster).toBeReady('deployment/web', { within: '1m' });
  await expect(cluster).toHaveCondition('deployment/web', 'Available');
  await expect(cluster).toHaveEvent({ about: 'deployment/web', reason: 'ScalingReplicaSet', message: /from 0 to 2/ });
  const [set] = cluster.events({ reason: 'SuccessfulCreate' });
  await expect(cluster).toBeOwnedBy(`replicaset/${set?.involvedObject.name}`, 'deployment/web');
  const deployment = await cluster.waitFor('deployment/web', 'Available');
  expect(deployment).toBeReady();
  expect(deployment).toHaveCondition('Progressing');
});

test('what happened is a snapshot that stays the same', async ({ cluster }) => {
  await cluster.apply(web);
  await expect(cluster).toBeReady('deployment/web');
  expect(eventStory(cluster, { about: 'deployment/web' })).toMatchInlineSnapshot(`
    [
      "+0s Normal ScalingReplicaSet Deployment/web: Scaled up replica set web-76f464fd7c from 0 to 2",
    ]
  `);
});

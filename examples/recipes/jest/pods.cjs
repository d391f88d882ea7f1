// jest without flags: the library is required. It runs beside jest's sandbox, so hooks are handed to it.
const { clusterPerTest, matchers } = require('keelson/testing/jest');

expect.extend(matchers);
const cluster = clusterPerTest({ beforeEach, afterEach }, { nodes: 1 });

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  spec: { containers: [{ name: 'c', image: 'app:1' }] },
};

test('a pod gets ready', async () => {
  await cluster().apply(pod);
  await expect(cluster()).toBeReady('pod/p');
  await expect(cluster()).toHaveEvent({ about: 'pod/p', reason: 'Scheduled' });
  await expect(cluster()).not.toHaveEvent({ reason: 'FailedScheduling' });
});

test('each test has a cluster of its own', async () => {
  await expect(cluster().waitFor('pod/p', 'exists', { within: 0 })).rejects.toThrow(/does not exist/);
});

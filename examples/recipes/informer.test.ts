/** An informer of `@kubernetes/client-node` follows a simulated cluster; the test's waits move its time. */
import { CoreV1Api, KubeConfig, makeInformer, type V1Pod } from '@kubernetes/client-node';
import { expect, test } from 'vitest';
import { Cluster } from 'keelson/testing';

test('an informer sees pods come, get ready and go', async () => {
  await using cluster = await Cluster.start({ nodes: 1 });
  const config = new KubeConfig();
  config.loadFromString(await cluster.kubeconfig());
  const core = config.makeApiClient(CoreV1Api);
  const informer = makeInformer<V1Pod>(config, '/api/v1/namespaces/default/pods', () =>
    core.listNamespacedPod({ namespace: 'default' }),
  );
  const seen: string[] = [];
  informer.on('add', ({ metadata }) => void seen.push(`add ${metadata?.name}`));
  informer.on('delete', ({ metadata }) => void seen.push(`delete ${metadata?.name}`));
  await informer.start();
  try {
    await cluster.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'c', image: 'app:1' }] },
    });
    await cluster.waitFor('pod/p', 'Ready');
    await expect.poll(() => informer.get('p', 'default')?.status?.phase).toBe('Running');
    await core.deleteNamespacedPod({ namespace: 'default', name: 'p', gracePeriodSeconds: 0 });
    await cluster.waitFor('pod/p', 'deleted');
    await expect.poll(() => seen).toEqual(['add p', 'delete p']);
  } finally {
    await informer.stop();
  }
});

/** Real clients on a real port, over real and over virtual time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AppsV1Api, CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { Cluster } from './cluster.ts';

function clientOf(kubeconfig: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  return config;
}

const body = {
  metadata: { name: 'web' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
  },
};

describe('a real port', () => {
  it('serves while virtual time stands still; waits in the test move it', async () => {
    await using cluster = await Cluster.start({ nodes: 1 });
    cluster.image('web:1', { start: '30s', logs: ['started'] });
    const config = clientOf(await cluster.kubeconfig());
    const nowMs = cluster.nowMs;
    await config.makeApiClient(AppsV1Api).createNamespacedDeployment({ namespace: 'default', body });
    const core = config.makeApiClient(CoreV1Api);
    assert.equal((await core.listNode()).items.length, 1);
    assert.equal(cluster.nowMs, nowMs);
    await cluster.waitFor('deployment/web', 'Available');
    assert.equal(Math.round((cluster.nowMs - nowMs) / 1000), 30);
    const [pod] = (await core.listNamespacedPod({ namespace: 'default' })).items;
    assert.equal(
      await core.readNamespacedPodLog({ namespace: 'default', name: pod?.metadata?.name ?? '' }),
      'started\n',
    );
  });

  it('publishes its authority to pods', async () => {
    await using cluster = await Cluster.start({ nodes: 0 });
    const { kubeconfig } = await cluster.listen();
    const authority = Buffer.from(clientOf(kubeconfig).getCurrentCluster()?.caData ?? '', 'base64').toString('utf8');
    await cluster.waitFor<{ metadata: object; data?: Record<string, string> }>(
      'configmap/kube-root-ca.crt',
      ({ data }) => data?.['ca.crt'] === authority,
    );
  });

  it('answers 503 while the API server is down', async () => {
    await using cluster = await Cluster.start({ nodes: 0 });
    const core = clientOf(await cluster.kubeconfig()).makeApiClient(CoreV1Api);
    await cluster.faults.crash('apiserver');
    await assert.rejects(core.listNode(), ({ code }: { code: number }) => code === 503);
    await cluster.faults.start('apiserver');
    assert.deepEqual((await core.listNode()).items, []);
  });
});

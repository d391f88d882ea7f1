/** A node is cordoned, drained, tainted, and runs pods again. Uses its own cluster, on which no other test can run meanwhile. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { images, startCluster, type TestCluster } from './cluster-fixture.ts';

describe('node maintenance with kubectl', () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await startCluster();
  });
  after(() => cluster?.stop());

  it('cordons, drains and taints the node, and admits pods again', async () => {
    const node = await cluster.kubectl('get nodes -o jsonpath={.items[0].metadata.name}');
    await cluster.kubectl(`create deployment calm --image=${images.test} --replicas=2`);
    await cluster.kubectl([
      'patch',
      'deployment',
      'calm',
      '-p',
      '{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":1}}}}',
    ]);
    await cluster.kubectl('rollout status deployment/calm --timeout=120s');
    await cluster.kubectl(`cordon ${node}`);
    assert.match(await cluster.kubectl('get nodes'), /Ready,SchedulingDisabled/);
    assert.match(await cluster.kubectl(`drain ${node} --ignore-daemonsets --timeout=120s`), /node\/\S+ drained/);
    await cluster.until(
      'pods wait',
      async () =>
        (await cluster.kubectl(['get', 'pods', '-o', 'jsonpath={.items[*].status.phase}'])) === 'Pending Pending',
    );
    await cluster.kubectl(`taint node ${node} only=few:NoSchedule`);
    await cluster.kubectl(`uncordon ${node}`);
    await cluster.until('the taint keeps them away', async () =>
      (await cluster.kubectl('describe pods --show-events')).includes('had untolerated taint'),
    );
    await cluster.kubectl(`taint node ${node} only-`);
    await cluster.kubectl('rollout status deployment/calm --timeout=120s');
  });
});

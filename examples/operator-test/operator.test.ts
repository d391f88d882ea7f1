/**
 * Tests of the operator against a whole cluster in this process: the real API server with the real Deployment controller,
 * garbage collector, scheduler and kubelet. The operator speaks to it over HTTPS, as to any cluster.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, beforeEach, describe, it } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import { Cluster, Deployments, Leases, type Listening } from 'keelson/testing';
import { startOperator, type Operator } from './operator.ts';

/** Real time: the machine may have other things to do. */
const patiently = { within: '3m' } as const;

describe('the website operator', () => {
  let cluster: Cluster;
  let listening: Listening;
  let operators: Operator[] = [];

  before(async () => {
    cluster = await Cluster.start({ nodes: 2, clock: 'real' });
    cluster.image('web:1', { start: '50ms' });
    listening = await cluster.listen();
    await cluster.apply(readFileSync(new URL('website-crd.yaml', import.meta.url), 'utf8'));
  });
  beforeEach(async () => {
    for (const operator of operators.splice(0)) await operator.stop();
  });
  after(async () => {
    for (const operator of operators.splice(0)) await operator.stop();
    await cluster.stop();
  });

  async function start(identity: string): Promise<Operator> {
    const kubeConfig = new KubeConfig();
    kubeConfig.loadFromString(listening.kubeconfig);
    const operator = await startOperator(kubeConfig, 'default', identity);
    operators.push(operator);
    return operator;
  }

  const website = (name: string, replicas: number): object => ({
    apiVersion: 'example.com/v1',
    kind: 'Website',
    metadata: { name },
    spec: { image: 'web:1', replicas },
  });

  it('runs what a website asks for, and follows its changes', async () => {
    await start('a');
    await cluster.apply(website('blog', 2));
    await cluster.waitFor('deployment/blog', '.status.availableReplicas=2', patiently);
    await cluster.apply(website('blog', 3));
    await cluster.waitFor('deployment/blog', '.status.availableReplicas=3', patiently);
  });

  it('has the last word when a website is deleted, and its pods go with it', async () => {
    const operator = await start('a');
    await cluster.apply(website('shop', 1));
    await cluster.waitFor('deployment/shop', 'Available', patiently);
    await cluster.client.resource(cluster.resolve('website/shop').info).delete({ namespace: 'default', name: 'shop' });
    await cluster.waitFor('website/shop', 'deleted', patiently);
    await cluster.waitFor('deployment/shop', 'deleted', patiently); // The garbage collector's work: nothing of it is in the operator.
    assert.deepEqual(operator.archived, ['shop']);
  });

  it('works once, however many replicas there are, and goes on when the leader stops', async () => {
    const first = await start('a');
    const second = await start('b');
    const leaders = (): Operator[] => [first, second].filter((operator) => operator.isLeader());
    await cluster.eventually(() => assert.equal(leaders().length, 1), patiently);
    const [leader] = leaders() as [Operator];
    await leader.stop();
    operators = operators.filter((operator) => operator !== leader);
    await cluster.eventually(() => assert.ok(operators[0]?.isLeader()), patiently);
    await cluster.apply(website('wiki', 1));
    await cluster.waitFor('deployment/wiki', 'Available', patiently);
  });

  it('takes up what was made while somebody else held the lease', async () => {
    const leases = cluster.client.resource(Leases);
    const lease = { namespace: 'default', name: 'website-operator' };
    const spec = { holderIdentity: 'stranger', leaseDurationSeconds: 5, renewTime: '2100-01-01T00:00:00.000000Z' };
    await leases.patch(lease, { type: 'merge', patch: { spec } });
    const operator = await start('a');
    await cluster.apply(website('early', 1));
    assert.equal(operator.isLeader(), false);
    await leases.patch(lease, { type: 'merge', patch: { spec: { holderIdentity: '' } } });
    await cluster.waitFor('deployment/early', 'Available', patiently);
  });

  it('survives a restart of the API server', async () => {
    await start('a');
    await cluster.faults.restart('apiserver');
    await cluster.apply(website('late', 1));
    await cluster.waitFor('deployment/late', 'Available', patiently);
    assert.equal(
      (await cluster.client.resource(Deployments).get({ namespace: 'default', name: 'late' })).spec?.replicas,
      1,
    );
  });
});

/** Matchers, hooks and fixture, called as a runner calls them; `test/control-plane/recipes.test.ts` tests real runners. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Cluster, image } from '../index.ts';
import { clusterFixture, clusterPerTest, eventStory, matchers } from './vitest.ts';

const labels = { app: 'web' };
const WEB = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 2,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
  },
};

function startWeb(): Promise<Cluster> {
  return Cluster.start({ nodes: 1, images: [image('web:1', { start: '2s' })] });
}

describe('matchers', () => {
  it('of a cluster wait, and fail with the report of a wait; after not they check the current state', async () => {
    await using cluster = await startWeb();
    await cluster.apply(WEB);
    const now = await matchers.toBeReady.call({ isNot: true }, cluster, 'deployment/web');
    assert.equal(now.pass, false);
    assert.equal((await matchers.toBeReady.call({}, cluster, 'deployment/web')).pass, true);
    assert.equal((await matchers.toHaveCondition.call({}, cluster, 'deployment/web', 'Available')).pass, true);
    const failed = await matchers.toHaveCondition.call({}, cluster, 'deployment/web', 'Available', 'False', {
      within: '1s',
    });
    assert.equal(failed.pass, false);
    assert.match(
      failed.message(),
      /^deployment default\/web is not Available=False after 1s\n\ndeployment default\/web\n/,
    );
    const [set] = cluster.events({ reason: 'SuccessfulCreate' });
    const owned = `replicaset/${set?.involvedObject.name}`;
    assert.equal((await matchers.toBeOwnedBy.call({}, cluster, owned, 'deployment/web')).pass, true);
    assert.equal((await matchers.toBeOwnedBy.call({}, cluster, owned, 'node/node-1', { within: 0 })).pass, false);
  });

  it('of an object check its fields', async () => {
    await using cluster = await startWeb();
    const [before] = await cluster.apply(WEB);
    assert.equal((await matchers.toBeReady.call({}, before!)).pass, false);
    await matchers.toBeReady.call({}, cluster, 'deployment/web');
    const after = await cluster.waitFor('deployment/web', 'Available');
    assert.equal((await matchers.toBeReady.call({}, after)).pass, true);
    assert.equal((await matchers.toHaveCondition.call({}, after, 'Progressing')).pass, true);
    assert.equal((await matchers.toHaveCondition.call({}, after, 'Progressing', 'False')).pass, false);
  });

  it('of events wait for one, also by message, and show the existing ones', async () => {
    await using cluster = await startWeb();
    await cluster.apply(WEB);
    const event = { about: 'deployment/web', reason: 'ScalingReplicaSet' };
    assert.equal((await matchers.toHaveEvent.call({}, cluster, { ...event, message: /from 0 to 2/ })).pass, true);
    const failed = await matchers.toHaveEvent.call({}, cluster, { ...event, message: 'to 3' }, { within: '1s' });
    assert.equal(failed.pass, false);
    assert.match(failed.message(), /expected an event .*"to 3".*\nevents:\n(.*\n)*.*ScalingReplicaSet Deployment\/web/);
  });

  it('of events report that they expire when none is left', async () => {
    await using cluster = await Cluster.start({ nodes: 0, controllers: [], scheduler: false });
    const failed = await matchers.toHaveEvent.call({}, cluster, { reason: 'None' }, { within: '1s' });
    assert.match(failed.message(), /events:\n {2}none: events are kept for an hour of cluster time$/);
  });

  it('with not pass only for a definite result: an invalid check is an error', async () => {
    await using cluster = await startWeb();
    await cluster.apply(WEB);
    const not = { isNot: true };
    assert.equal((await matchers.toBeReady.call(not, cluster, 'deployment/web')).pass, false);
    const misspelt = { wihtin: '1s' } as object;
    const asked: (() => unknown)[] = [
      () => matchers.toBeReady.call(not, cluster, 'deploymnt/web'),
      () => matchers.toBeReady.call(not, cluster, 'deployment/web', misspelt),
      () => matchers.toHaveCondition.call(not, cluster, 'deploymnt/web', 'Available'),
      () => matchers.toHaveCondition.call(not, cluster, 'deployment/web', 'Available', misspelt),
      () => matchers.toBeOwnedBy.call(not, cluster, 'deployment/web', 'nod/node-1'),
      () => matchers.toHaveEvent.call(not, cluster, { about: 'deploymnt/web' }),
      () => matchers.toHaveEvent.call(not, cluster, { reason: 'Failed' }, misspelt),
    ];
    for (const ask of asked) await assert.rejects(async () => ask(), /no kind (deploymnt|nod)|wihtin/, String(ask));
    await cluster.stop();
    await assert.rejects(async () => matchers.toBeReady.call(not, cluster, 'deployment/web'), /the cluster is stopped/);
    await assert.rejects(matchers.toHaveEvent.call(not, cluster, { reason: 'Failed' }), /the cluster is stopped/);
  });

  it('report a cluster that stops during a matcher as an error', async () => {
    const cluster = await Cluster.start({ nodes: 0, controllers: [] });
    const waiting = [
      matchers.toHaveEvent.call({}, cluster, { reason: 'None' }),
      matchers.toBeReady.call({}, cluster, 'deployment/web'),
    ].map((work) => assert.rejects(async () => work, /stopped/));
    await cluster.stop();
    await Promise.all(waiting);
  });

  it('of events give the same result each time for a pattern with the flag g', async () => {
    await using cluster = await startWeb();
    await cluster.apply(WEB);
    const event = { about: 'deployment/web', reason: 'ScalingReplicaSet', message: /from 0 to 2/g };
    for (let round = 0; round < 3; round += 1)
      assert.equal((await matchers.toHaveEvent.call({}, cluster, event)).pass, true);
  });
});

it('a story of events is equal for clusters whose generated names differ', async () => {
  const storyOf = async (seed: number): Promise<readonly string[]> => {
    await using cluster = await Cluster.start({ nodes: 1, seed, images: [image('web:1', { start: '2s' })] });
    await cluster.apply(WEB);
    await matchers.toBeReady.call({}, cluster, 'deployment/web');
    return eventStory(cluster, { reason: 'SuccessfulCreate' });
  };
  const story = await storyOf(1);
  assert.deepEqual(await storyOf(2), story);
  assert.match(
    story.join('\n'),
    /^\+0s Normal SuccessfulCreate ReplicaSet\/(web-[a-z\d]+): Created pod: \1-1\n.*Created pod: \1-2$/,
  );
});

describe('a cluster', () => {
  it('of each test starts and ends with it', async () => {
    const works: (() => Promise<void>)[] = [];
    const hook = (work: () => Promise<void>): void => void works.push(work);
    const cluster = clusterPerTest({ beforeEach: hook, afterEach: hook }, { nodes: 0, controllers: [] });
    assert.throws(cluster, /no cluster runs/);
    const [start, stop] = works;
    await start!();
    const first = cluster();
    await stop!();
    await assert.rejects(first.advance(1), /is stopped/);
    assert.throws(cluster, /no cluster runs/);
  });

  it('of a fixture ends with the test, failed or not; its function names no fixture', async () => {
    const {
      cluster: [start, { scope }],
    } = clusterFixture({ nodes: 0, controllers: [] });
    assert.equal(scope, 'test');
    assert.match(start.toString(), /^async \(\{\s*\}\s*, /);
    let given: Cluster | undefined;
    await assert.rejects(
      start({}, async (cluster) => {
        given = cluster;
        throw new Error('the test failed');
      }),
      /the test failed/,
    );
    await assert.rejects(given!.advance(1), /is stopped/);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stableStringify } from '../../base/stable-json.ts';
import { ControllerRevisions, DaemonSets, Nodes, Pods } from '../../api/gen/resources.ts';
import type { DaemonSet } from '../../api/gen/apps-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { daemonPodNode } from '../../component-helpers/daemon-pods.ts';
import { createDaemonSetController } from './daemonset-controller.ts';
import { startServerHarness, type ServerHarness } from '../server-harness-fixture.ts';

type Spec = NonNullable<DaemonSet['spec']>;

const template = (image: string, spec: object = {}) => ({
  metadata: { labels: { app: 'agent' } },
  spec: { containers: [{ name: 'c', image }], ...spec },
});
const agent = (spec: Partial<Spec> = {}): object => ({
  metadata: { name: 'agent' },
  spec: { selector: { matchLabels: { app: 'agent' } }, template: template('v1'), ...spec },
});
async function start(nodes: readonly string[], spec: Partial<Spec> = {}): Promise<ServerHarness> {
  const h = await startServerHarness([createDaemonSetController]);
  for (const name of nodes) await h.addNode(name);
  await h.create(DaemonSets, agent(spec));
  await h.run(500);
  return h;
}
const set = (h: ServerHarness): Promise<DaemonSet> => h.get(DaemonSets, 'default/agent');
const change = (h: ServerHarness, edit: (spec: Spec) => void) =>
  h.update(DaemonSets, 'default/agent', (draft) => edit(draft.spec as Spec));
const placed = async (h: ServerHarness): Promise<string[]> =>
  (await h.pods()).map((pod) => daemonPodNode(pod) ?? '').sort();
const images = async (h: ServerHarness): Promise<string[]> =>
  (await h.pods()).map((pod) => pod.spec?.containers[0]?.image ?? '').sort();
const isReady = (pod: Pod): boolean => pod.status?.phase === 'Running';

describe('daemonset', () => {
  it('keeps one pod on each node, bound by affinity, with the tolerations of daemons', async () => {
    const h = await start(['a', 'b']);
    assert.deepEqual(await placed(h), ['a', 'b']);
    const [pod] = await h.pods();
    const keys = pod?.spec?.tolerations?.map((t) => `${t.key}:${t.effect}`);
    for (const key of [
      'not-ready:NoExecute',
      'unreachable:NoExecute',
      'disk-pressure:NoSchedule',
      'memory-pressure:NoSchedule',
      'pid-pressure:NoSchedule',
      'unschedulable:NoSchedule',
    ])
      assert.ok(keys?.includes(`node.kubernetes.io/${key}`), key);
    const { status } = await set(h);
    assert.deepEqual(
      [
        status?.desiredNumberScheduled,
        status?.currentNumberScheduled,
        status?.numberReady,
        status?.numberAvailable,
        status?.updatedNumberScheduled,
        status?.observedGeneration,
      ],
      [2, 2, 2, 2, 2, 1],
    );
    const [revision] = await h.list(ControllerRevisions);
    assert.equal(
      revision?.metadata.labels?.['controller-revision-hash'],
      pod?.metadata.labels?.['controller-revision-hash'],
    );
    assert.equal(JSON.stringify(revision?.data), stableStringify(revision?.data), 'clients compare bytes');
    assert.equal(revision?.metadata.name, `agent-${pod?.metadata.labels?.['controller-revision-hash']}`);
    await h.addNode('c');
    await h.run(300);
    assert.deepEqual(await placed(h), ['a', 'b', 'c']);
    await h.stop();
  });

  it('writes nothing more once settled', async () => {
    const h = await start(['a', 'b']);
    const before = h.writes();
    await h.clock.advance(3_600_000);
    assert.equal(h.writes(), before);
    await h.stop();
  });

  const eligibility: [string, Parameters<ServerHarness['addNode']>[1], object, boolean][] = [
    ['a plain node', {}, {}, true],
    ['an untolerated NoSchedule taint', { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } }, {}, false],
    [
      'a tolerated taint',
      { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } },
      { tolerations: [{ operator: 'Exists' }] },
      true,
    ],
    [
      'an unschedulable node',
      { spec: { unschedulable: true, taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] } },
      {},
      true,
    ],
    [
      'no network, without host network',
      { spec: { taints: [{ key: 'node.kubernetes.io/network-unavailable', effect: 'NoSchedule' }] } },
      {},
      false,
    ],
    [
      'no network, with host network',
      { spec: { taints: [{ key: 'node.kubernetes.io/network-unavailable', effect: 'NoSchedule' }] } },
      { hostNetwork: true },
      true,
    ],
    ['a selector that does not match', {}, { nodeSelector: { disk: 'ssd' } }, false],
    ['a selector that matches', { labels: { disk: 'ssd' } }, { nodeSelector: { disk: 'ssd' } }, true],
    ['another node by name', {}, { nodeName: 'z' }, false],
  ];
  for (const [what, node, spec, runs] of eligibility) {
    it(`${runs ? 'runs' : 'does not run'} on ${what}`, async () => {
      const h = await startServerHarness([createDaemonSetController]);
      await h.addNode('n', node);
      await h.create(DaemonSets, agent({ template: template('v1', spec) }));
      await h.run(300);
      assert.equal((await h.pods()).length, runs ? 1 : 0);
      assert.equal((await set(h)).status?.desiredNumberScheduled, runs ? 1 : 0);
      await h.stop();
    });
  }

  it('lets a pod stay behind a new NoSchedule taint, counts it misscheduled, and removes it on NoExecute', async () => {
    const h = await start(['a']);
    await h.update(Nodes, 'a', (node) => void (node.spec = { taints: [{ key: 'k', effect: 'NoSchedule' }] }));
    await h.run(300);
    assert.equal((await h.pods()).length, 1);
    assert.equal((await set(h)).status?.numberMisscheduled, 1);
    await h.update(Nodes, 'a', (node) => void (node.spec = { taints: [{ key: 'k', effect: 'NoExecute' }] }));
    await h.run(300);
    assert.equal((await h.pods()).length, 0);
    await h.stop();
  });

  it('replaces failed pods with a growing wait', async () => {
    const h = await start(['a']);
    for (const waitMs of [0, 1000, 2000]) {
      const [pod] = await h.pods();
      await h.finish(pod as Pod, 'Failed');
      if (waitMs > 0) {
        await h.run(waitMs / 2);
        assert.equal((await h.pods()).length, 0, `waits ${waitMs} ms`);
      }
      await h.run(waitMs + 300);
      assert.equal((await h.pods()).length, 1);
    }
    assert.ok(
      (await h.events()).some((e) =>
        /^Warning FailedDaemonPod Found failed daemon pod default\/agent-\w+ on node a, will try to kill it$/.test(e),
      ),
    );
    await h.stop();
  });

  it('rolls within maxUnavailable, records the revision, and rolls back to the old one', async () => {
    const h = await start(['a', 'b', 'c', 'd'], {
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 2, maxSurge: 0 } },
    });
    await change(h, (spec) => void (spec.template = template('v2')));
    for (let i = 0; i < 30; i++) {
      await h.run(100);
      const ready = (await h.list(Pods)).filter((p) => isReady(p) && p.metadata.deletionTimestamp === undefined);
      assert.ok(ready.length >= 2, `${ready.length} ready`);
    }
    assert.deepEqual(await images(h), ['v2', 'v2', 'v2', 'v2']);
    assert.deepEqual((await h.list(ControllerRevisions)).map((r) => r.revision).sort(), [1, 2]);
    await change(h, (spec) => void (spec.template = template('v1')));
    await h.run(3000);
    assert.deepEqual(await images(h), ['v1', 'v1', 'v1', 'v1']);
    assert.deepEqual((await h.list(ControllerRevisions)).map((r) => r.revision).sort(), [2, 3]);
    assert.equal((await set(h)).status?.updatedNumberScheduled, 4);
    // The server sets the number of template changes, and the pods have it as a label.
    const changes = 'deprecated.daemonset.template.generation';
    await h.update(DaemonSets, 'default/agent', (draft) => void delete draft.metadata.annotations);
    assert.deepEqual(
      [
        (await set(h)).metadata.annotations,
        (await h.pods()).map((p) => p.metadata.labels?.['pod-template-generation']),
      ],
      [{ [changes]: '3' }, ['3', '3', '3', '3']],
    );
    await h.stop();
  });

  it('surges: no node is without a ready pod, and at most maxSurge nodes have two', async () => {
    const h = await start(['a', 'b', 'c'], {
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    });
    await change(h, (spec) => void (spec.template = template('v2')));
    for (let i = 0; i < 30; i++) {
      await h.run(100);
      const pods = await h.pods();
      assert.ok(pods.length <= 4, `${pods.length} pods`);
      assert.equal(new Set(pods.filter(isReady).map(daemonPodNode)).size, 3);
    }
    assert.deepEqual(await images(h), ['v2', 'v2', 'v2']);
    await h.stop();
  });

  it('surging, pods on nodes that are no longer meant go when as many others serve', async () => {
    const h = await startServerHarness([createDaemonSetController]);
    for (const zone of ['y', 'z', 'both'])
      for (const index of [0, 1])
        await h.addNode(`${zone}${index}`, { spec: { taints: [{ key: zone, effect: 'NoSchedule' }] } });
    const tolerating = (...keys: string[]) =>
      template('v1', { tolerations: keys.map((key) => ({ key, operator: 'Exists' })) });
    const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
    await h.create(DaemonSets, agent({ template: tolerating('y', 'both'), updateStrategy }));
    await h.run(500);
    assert.deepEqual(await placed(h), ['both0', 'both1', 'y0', 'y1']);
    const old = new Set((await h.pods()).map(({ metadata }) => metadata.uid));
    await change(h, (spec) => void (spec.template = tolerating('z', 'both')));
    await h.run(500, { which: ({ metadata }) => old.has(metadata.uid) });
    assert.equal((await h.pods()).length, 7, 'two on new nodes and one surging, none of which serves');
    await h.run(3000);
    assert.deepEqual(await placed(h), ['both0', 'both1', 'z0', 'z1']);
    assert.equal((await set(h)).status?.updatedNumberScheduled, 4);
    await change(h, (spec) => void (spec.template = template('v1')));
    await h.run(3000);
    assert.deepEqual(await placed(h), []);
    assert.equal((await set(h)).status?.numberMisscheduled, 0);
    await h.stop();
  });

  it('does not wait for an ended pod that is going and that a finalizer keeps', async () => {
    const h = await start(['a']);
    const [pod] = await h.pods();
    const key = `default/${pod?.metadata.name}`;
    await h.update(Pods, key, (draft) => void (draft.metadata.finalizers = ['example.com/slow']));
    await h.finish(pod as Pod, 'Failed');
    await h.run(1000);
    assert.ok((await h.get(Pods, key)).metadata.deletionTimestamp);
    assert.deepEqual(await placed(h), ['a']);
    const { status } = await set(h);
    assert.deepEqual([status?.numberReady, status?.currentNumberScheduled], [1, 1]);
    await h.stop();
  });

  it('names revisions without a label after themselves', async () => {
    const h = await start(['a']);
    const [revision] = await h.list(ControllerRevisions);
    const name = revision?.metadata.name ?? '';
    const key = `default/${name}`;
    await h.update(ControllerRevisions, key, (draft) => {
      delete draft.metadata.labels?.['controller-revision-hash'];
    });
    await h.run(1000);
    assert.equal((await h.get(ControllerRevisions, key)).metadata.labels?.['controller-revision-hash'], name);
    await h.stop();
  });

  it('pauses the update while new pods are not ready', async () => {
    const h = await start(['a', 'b', 'c']);
    await change(h, (spec) => void (spec.template = template('v2')));
    await h.run(2000, { which: (pod) => pod.spec?.containers[0]?.image === 'v1' });
    assert.deepEqual(await images(h), ['v1', 'v1', 'v2']);
    assert.equal((await set(h)).status?.numberUnavailable, 1);
    await h.stop();
  });

  it('OnDelete waits for pods to be deleted', async () => {
    const h = await start(['a', 'b'], { updateStrategy: { type: 'OnDelete' } });
    await change(h, (spec) => void (spec.template = template('v2')));
    await h.run(1000);
    assert.deepEqual(await images(h), ['v1', 'v1']);
    const [pod] = await h.pods();
    await h.remove(Pods, `default/${pod?.metadata.name}`);
    await h.run(500);
    assert.deepEqual(await images(h), ['v1', 'v2']);
    await h.stop();
  });

  it('keeps the configured number of old revisions', async () => {
    const h = await start(['a'], { revisionHistoryLimit: 1 });
    for (const image of ['v2', 'v3', 'v4']) {
      await change(h, (spec) => void (spec.template = template(image)));
      await h.run(1000);
    }
    assert.deepEqual((await h.list(ControllerRevisions)).map((r) => r.revision).sort(), [3, 4]);
    await h.stop();
  });
});

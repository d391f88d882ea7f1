/** Pods, claims and revisions of a stateful set in a real server. Upstream: test/integration/statefulset. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatTime } from '../api/time.ts';
import type { ControllerRevision, StatefulSet } from '../api/gen/apps-v1.ts';
import { ControllerRevisions, Pods, ResourceQuotas, StatefulSets } from '../api/gen/resources.ts';
import { createResourceQuotaController } from './resourcequota/resourcequota-controller.ts';
import { startServerHarness, type ServerHarness } from './server-harness-fixture.ts';
import { createStatefulSetController } from './statefulset/statefulset-controller.ts';

type Spec = NonNullable<StatefulSet['spec']>;

const labels = { app: 'db' };
const template = (image: string) => ({ metadata: { labels }, spec: { containers: [{ name: 'c', image }] } });
const start = (): Promise<ServerHarness> =>
  startServerHarness([createStatefulSetController, createResourceQuotaController]);
const make = (h: ServerHarness, replicas: number, spec: Partial<Spec> = {}): Promise<StatefulSet> =>
  h.create(StatefulSets, {
    metadata: { name: 'db' },
    spec: {
      replicas,
      podManagementPolicy: 'Parallel',
      serviceName: 'db',
      selector: { matchLabels: labels },
      template: template('v1'),
      ...spec,
    },
  });
const get = (h: ServerHarness): Promise<StatefulSet> => h.get(StatefulSets, 'default/db');
const change = (h: ServerHarness, edit: (spec: Spec) => void): Promise<StatefulSet> =>
  h.update(StatefulSets, 'default/db', (draft) => edit(draft.spec!));
const hold = (h: ServerHarness, name: string, finalizers: string[]) =>
  h.update(Pods, `default/${name}`, (draft) => void (draft.metadata.finalizers = finalizers));
const uids = async (h: ServerHarness): Promise<Record<string, string>> =>
  Object.fromEntries((await h.list(Pods)).map(({ metadata: { name = '', uid = '' } }) => [name, uid]));
const images = async (h: ServerHarness): Promise<(string | undefined)[]> =>
  (await h.pods()).map(({ spec }) => spec?.containers[0]?.image);

describe('a StatefulSet', () => {
  it('recreates ended pods, but not terminating ones', async () => {
    const h = await start();
    await make(h, 3);
    await h.run(500);
    const before = await uids(h);
    await hold(h, 'db-0', ['example.com/held']);
    await h.remove(Pods, 'default/db-0');
    const [, failed, succeeded] = await h.list(Pods);
    await h.finish(failed!, 'Failed');
    await h.finish(succeeded!, 'Succeeded');
    await h.run(1000);
    const during = await uids(h);
    const same = (now: Record<string, string>): boolean[] =>
      Object.keys(before).map((name) => now[name] === before[name]);
    assert.deepEqual(same(during), [true, false, false]);
    assert.deepEqual(
      (await h.pods()).map(({ metadata }) => metadata.name),
      ['db-1', 'db-2'],
    );
    await hold(h, 'db-0', []);
    await h.run(500);
    assert.deepEqual(same(await uids(h)), [false, false, false]);
    assert.equal((await h.pods()).length, 3);
    await h.stop();
  });

  it('reports the number of its pods although not all can be created', async () => {
    const h = await start();
    await h.create(ResourceQuotas, { metadata: { name: 'q' }, spec: { hard: { pods: '2' } } });
    await h.run(500);
    await make(h, 4);
    await h.run(2000);
    const { status } = await get(h);
    assert.deepEqual([status?.replicas, status?.readyReplicas, status?.currentReplicas], [2, 2, 2]);
    await h.stop();
  });

  it('distinguishes ready pods from available ones', async () => {
    const h = await start();
    await make(h, 4, { minReadySeconds: 3600 });
    const ready = (name: string, status: string, agoMs: number) =>
      h.update(
        Pods,
        `default/${name}`,
        (draft) => {
          const lastTransitionTime = formatTime(h.clock.nowMs() - agoMs);
          draft.status = {
            ...draft.status,
            phase: 'Running',
            conditions: [{ type: 'Ready', status, lastTransitionTime }],
          };
        },
        'status',
      );
    await h.run(300, { which: () => false });
    await ready('db-0', 'False', 0);
    await ready('db-1', 'True', 0);
    await ready('db-2', 'True', 7_200_000);
    await ready('db-3', 'True', 7_200_000);
    await h.run(500);
    const counts = async () => {
      const { status } = await get(h);
      return [status?.replicas, status?.readyReplicas, status?.availableReplicas];
    };
    assert.deepEqual(await counts(), [4, 3, 2]);
    await h.clock.advance(3_600_000);
    assert.deepEqual(await counts(), [4, 3, 3], 'when the time is over, without anything else that happens');
    await h.stop();
  });

  it('observes every generation, also one without effect', async () => {
    const h = await start();
    const { spec } = await make(h, 2);
    await h.run(500);
    const seen = async () => {
      const { metadata, status } = await get(h);
      return [metadata.generation, status?.observedGeneration, status?.replicas];
    };
    for (const [index, replicas] of [3, 0, 2].entries()) {
      await change(h, (draft) => void (draft.replicas = replicas));
      await h.run(1000);
      assert.deepEqual(await seen(), [index + 2, index + 2, replicas]);
    }
    await change(h, (draft) => void (draft.template.metadata!.annotations = { a: 'b' }));
    await h.run(1000);
    assert.deepEqual(await seen(), [5, 5, 2]);
    const written = h.writes();
    await change(h, (draft) => Object.assign(draft, spec, { template: draft.template }));
    await h.run(1000);
    assert.deepEqual([await seen(), h.writes() - written], [[5, 5, 2], 1]);
    await h.stop();
  });

  it('keeps the old template below the partition for a pod that fails while it is held', async () => {
    const h = await start();
    await make(h, 2, { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } } });
    await h.run(500);
    await hold(h, 'db-0', ['example.com/held']);
    await change(h, (spec) => void (spec.template = template('v2')));
    await h.run(1000);
    assert.deepEqual(await images(h), ['v1', 'v2']);
    await h.finish((await h.pods())[0]!, 'Failed');
    await h.remove(Pods, 'default/db-0');
    await h.run(500);
    assert.equal((await get(h)).status?.readyReplicas, 1);
    await hold(h, 'db-0', []);
    await h.run(1000);
    assert.deepEqual(await images(h), ['v1', 'v2']);
    const { status } = await get(h);
    assert.notEqual(status?.currentRevision, status?.updateRevision);
    await h.stop();
  });

  const asking = (cpu: string, image = 'v1') => ({ name: 'c', image, resources: { requests: { cpu } } });
  for (const { what, data, again } of [
    { what: 'null where nothing is', data: { metadata: { creationTimestamp: null, labels } }, again: false },
    { what: 'without a default', data: { spec: { containers: [asking('1')] } }, again: false },
    { what: 'with an empty list', data: { spec: { containers: [asking('1')], volumes: [] } }, again: false },
    { what: 'with a quantity spelled otherwise', data: { spec: { containers: [asking('1000m')] } }, again: false },
    { what: 'with another quantity', data: { spec: { containers: [asking('1001m')] } }, again: true },
    { what: 'that is no template today', data: { spec: { containers: 'c' } }, again: true },
    { what: 'of another image', data: { spec: { containers: [asking('1', 'v0')] } }, again: true },
  ])
    it(`${again ? 'makes pods anew' : 'leaves pods alone'}: a revision ${what}`, async () => {
      const h = await start();
      await make(h, 2, { template: { metadata: { labels }, spec: { containers: [asking('1')] } } });
      await h.run(500);
      const before = await uids(h);
      const [{ metadata, ...revision }] = (await h.list(ControllerRevisions)) as [ControllerRevision];
      const patch = revision.data as { spec: { template: object } };
      const { namespace, name, labels: marks, annotations, ownerReferences } = metadata;
      // The content of a revision is immutable, so another one replaces it.
      await h.remove(ControllerRevisions, `default/${name}`);
      await h.create(ControllerRevisions, {
        ...revision,
        metadata: { namespace, name, labels: marks, annotations, ownerReferences },
        data: { spec: { template: { ...patch.spec.template, ...data } } },
      });
      await change(h, (spec) => void (spec.minReadySeconds = 1));
      await h.run(5000);
      const after = await uids(h);
      assert.deepEqual(
        Object.keys(before).map((pod) => after[pod] !== before[pod]),
        [again, again],
      );
      assert.equal((await h.list(ControllerRevisions)).length, again ? 2 : 1);
      await h.stop();
    });

  it('recreates a revision for a template that an older one records in another encoding', async () => {
    const h = await start();
    const of = (image: string) => ({ metadata: { labels }, spec: { containers: [asking('1', image)] } });
    await make(h, 1, { template: of('v1') });
    await h.run(500);
    const [{ metadata, ...revision }] = (await h.list(ControllerRevisions)) as [ControllerRevision];
    const { namespace, name, labels: marks, annotations, ownerReferences } = metadata;
    const patch = revision.data as { spec: { template: object } };
    await change(h, (spec) => void (spec.template = of('v2')));
    await h.run(5000);
    await h.remove(ControllerRevisions, `default/${name}`);
    await h.create(ControllerRevisions, {
      ...revision,
      metadata: { namespace, name, labels: marks, annotations, ownerReferences },
      data: { spec: { template: { ...patch.spec.template, spec: { containers: [asking('1000m')] } } } },
    });
    await change(h, (spec) => void (spec.template = of('v1')));
    await h.run(5000);
    const recorded = (await h.list(ControllerRevisions)).filter(({ data }) => JSON.stringify(data).includes('"v1"'));
    assert.deepEqual(recorded.map((one) => [one.metadata.name === name, one.revision]).sort(), [
      [false, 3],
      [true, 1],
    ]);
    await h.stop();
  });
});

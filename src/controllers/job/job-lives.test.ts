/** Changes of pods while no job controller runs are counted once when one starts again. Upstream: test/integration/job. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Job } from '../../api/gen/batch-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { Jobs, Pods } from '../../api/gen/resources.ts';
import { createJobController } from './job-controller.ts';
import { startServerHarness, type ServerHarness } from '../server-harness-fixture.ts';

type Spec = NonNullable<Job['spec']>;

interface Lives extends ServerHarness {
  /** Runs an action while the controller is stopped, then starts the controller again. */
  away(happens: () => Promise<unknown>): Promise<void>;
}

async function start(spec: Partial<Spec> = {}): Promise<Lives> {
  const h = await startServerHarness([]);
  const live = () => h.startThrough({ factories: [createJobController], through: (handler) => handler });
  let kill = live();
  await h.create(Jobs, {
    metadata: { name: 'j' },
    spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } }, ...spec },
  });
  await h.run(300);
  return {
    ...h,
    async away(happens) {
      kill(new Error('killed'));
      await h.clock.settle();
      await happens();
      await h.clock.advance(1000);
      kill = live();
      await h.run(1000);
    },
  };
}
const get = (h: ServerHarness): Promise<Job> => h.get(Jobs, 'default/j');
const change = (h: ServerHarness, edit: (spec: Spec) => void) =>
  h.update(Jobs, 'default/j', (draft) => edit(draft.spec!));
const tally = async (h: ServerHarness): Promise<number[]> => {
  const { status: { active = 0, succeeded = 0, failed = 0, terminating = 0 } = {} } = await get(h);
  return [active, succeeded, failed, terminating];
};
const ends = async (h: ServerHarness): Promise<string[]> =>
  ((await get(h)).status?.conditions ?? []).flatMap(({ type, status }) => (status === 'True' ? [type] : []));
const held = async (h: ServerHarness): Promise<number> =>
  (await h.list(Pods)).filter(({ metadata }) => metadata.finalizers !== undefined).length;
const indexOf = (pod: Pod): string => pod.metadata.labels?.['batch.kubernetes.io/job-completion-index'] ?? '';
const finish = async (h: ServerHarness, phase: 'Succeeded' | 'Failed', indexes?: string, exitCode?: number) => {
  for (const pod of await h.pods())
    if (indexes === undefined || indexes.includes(indexOf(pod))) await h.finish(pod, phase, exitCode);
};

describe('a job whose controller was stopped', () => {
  it('counts failures and successes of that time, each once', async () => {
    const h = await start();
    await h.away(() => Promise.resolve());
    assert.deepEqual(await tally(h), [1, 0, 0, 0], 'makes no second pod');
    await h.away(() => finish(h, 'Failed'));
    await h.run(12_000, { stepMs: 1000 });
    assert.deepEqual(await tally(h), [1, 0, 1, 0]);
    await h.away(() => finish(h, 'Succeeded'));
    assert.deepEqual(
      [await tally(h), await ends(h), await held(h)],
      [[0, 1, 1, 0], ['SuccessCriteriaMet', 'Complete'], 0],
    );
    await h.away(() => Promise.resolve());
    assert.deepEqual(await tally(h), [0, 1, 1, 0]);
    await h.stop();
  });

  it('keeps the indexes that are done, and how often others have failed', async () => {
    const h = await start({ completionMode: 'Indexed', completions: 4, parallelism: 4, backoffLimitPerIndex: 2 });
    await h.away(async () => {
      await finish(h, 'Succeeded', '13');
      await finish(h, 'Failed', '0');
    });
    await h.run(12_000, { stepMs: 1000 });
    assert.equal((await get(h)).status?.completedIndexes, '1,3');
    await h.away(() => finish(h, 'Failed', '0'));
    await h.run(25_000, { stepMs: 1000 });
    const again = (await h.pods()).map((pod) => [
      indexOf(pod),
      pod.metadata.annotations?.['batch.kubernetes.io/job-index-failure-count'],
    ]);
    assert.deepEqual(again.toSorted(), [
      ['0', '2'],
      ['2', '0'],
    ]);
    await h.away(() => finish(h, 'Failed', '0'));
    await h.away(() => finish(h, 'Succeeded', '2'));
    const { status } = await get(h);
    assert.deepEqual([status?.completedIndexes, status?.failedIndexes, await held(h)], ['1-3', '0', 0]);
    assert.deepEqual(await ends(h), ['FailureTarget', 'Failed']);
    await h.stop();
  });

  it('is suspended, and stays so', async () => {
    const h = await start({ parallelism: 2, completions: 2 });
    await h.away(() => change(h, (spec) => void (spec.suspend = true)));
    assert.deepEqual([await tally(h), await ends(h), (await h.pods()).length], [[0, 0, 0, 0], ['Suspended'], 0]);
    await h.away(() => Promise.resolve());
    assert.deepEqual([await tally(h), await ends(h)], [[0, 0, 0, 0], ['Suspended']]);
    await h.away(() => change(h, (spec) => void (spec.suspend = false)));
    assert.deepEqual([await tally(h), await ends(h)], [[2, 0, 0, 0], []]);
    await h.stop();
  });

  it('fails by its policy for a failed pod that was deleted', async () => {
    const h = await start({
      parallelism: 2,
      completions: 2,
      podFailurePolicy: { rules: [{ action: 'FailJob', onExitCodes: { operator: 'In', values: [5] } }] },
    });
    await h.away(async () => {
      const [pod] = await h.pods();
      await h.finish(pod!, 'Failed', 5);
      await h.remove(Pods, `default/${pod!.metadata.name}`);
    });
    const { status } = await get(h);
    assert.deepEqual(
      (status?.conditions ?? []).map(({ type, reason }) => `${type} ${reason}`),
      ['FailureTarget PodFailurePolicy', 'Failed PodFailurePolicy'],
    );
    assert.deepEqual([await tally(h), await held(h)], [[0, 0, 2, 0], 0]);
    await h.stop();
  });

  it('has failed too often, and keeps no pod', async () => {
    const h = await start({ parallelism: 3, completions: 3, backoffLimit: 1 });
    await h.away(() => finish(h, 'Failed'));
    assert.deepEqual([await tally(h), await ends(h), await held(h)], [[0, 0, 3, 0], ['FailureTarget', 'Failed'], 0]);
    await h.stop();
  });

  it('was deleted: its pods are let go', async () => {
    const h = await start({ parallelism: 3, completions: 3 });
    await h.away(() => h.remove(Jobs, 'default/j', 'Orphan'));
    await h.update(Jobs, 'default/j', (draft) => void (draft.metadata.finalizers = [])).catch(() => undefined);
    await h.run(1000);
    assert.equal(await held(h), 0);
    await h.stop();
  });
});

describe('a job', () => {
  it('scales with its indexes, and repeats unknown ones', async () => {
    const h = await start({ completionMode: 'Indexed', completions: 3, parallelism: 3 });
    const resize = async (size: number) => {
      await change(h, (spec) => Object.assign(spec, { completions: size, parallelism: size }));
      await h.run(1000);
      return [(await get(h)).status?.completedIndexes ?? '', (await h.pods()).map(indexOf).sort().join()];
    };
    await finish(h, 'Succeeded', '12');
    await h.run(1000);
    assert.equal((await get(h)).status?.completedIndexes, '1,2');
    assert.deepEqual(await resize(4), ['1,2', '0,3']);
    assert.deepEqual(await resize(2), ['1', '0']);
    assert.deepEqual(await resize(3), ['1', '0,2']);
    await h.run(1000);
    assert.deepEqual(await resize(0), ['', '']);
    assert.deepEqual(await ends(h), ['SuccessCriteriaMet', 'Complete']);
    await h.stop();
  });

  it('is Failed only when its pods are gone', async () => {
    const h = await start({
      parallelism: 2,
      completions: 2,
      podFailurePolicy: { rules: [{ action: 'FailJob', onExitCodes: { operator: 'In', values: [5] } }] },
    });
    const [pod] = await h.pods();
    await h.finish(pod!, 'Failed', 5);
    await h.clock.advance(30_000);
    assert.deepEqual([await tally(h), await ends(h)], [[0, 0, 2, 1], ['FailureTarget']]);
    await h.run(1000);
    assert.deepEqual(
      [await tally(h), await ends(h)],
      [
        [0, 0, 2, 0],
        ['FailureTarget', 'Failed'],
      ],
    );
    await h.stop();
  });

  it('accepts scheduling directives and resources until it is resumed', async () => {
    const h = await start({ suspend: true });
    await change(h, (spec) => {
      spec.template.spec!.nodeSelector = { disk: 'fast' };
      spec.template.metadata = {
        labels: { ...spec.template.metadata?.labels, queue: 'a' },
        annotations: { by: 'queue' },
      };
      spec.template.spec!.containers[0]!.resources = { requests: { cpu: '2' } };
    });
    await assert.rejects(
      change(h, (spec) => void (spec.template.metadata = { labels: { queue: 'a' } })),
      /`selector` does not match template `labels`/,
    );
    await change(h, (spec) => void (spec.suspend = false));
    await h.run(500);
    const [pod] = await h.pods();
    assert.deepEqual(
      [
        pod?.spec?.nodeSelector,
        pod?.metadata.labels?.queue,
        pod?.metadata.annotations,
        pod?.spec?.containers[0]?.resources,
      ],
      [{ disk: 'fast' }, 'a', { by: 'queue' }, { requests: { cpu: '2' } }],
    );
    await assert.rejects(
      change(h, (spec) => void (spec.template.spec!.nodeSelector = { disk: 'slow' })),
      /field is immutable/,
    );
    await h.stop();
  });
});

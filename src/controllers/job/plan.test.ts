/** Which indexes a job starts: against a list of all indexes, on random small jobs; and of jobs of any size. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Job } from '../../api/gen/batch-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { COMPLETION_INDEX, formatIndexes } from './indexes.ts';
import { IndexSet } from './index-set.ts';
import { addUncountedPods } from './accounting.ts';
import { evaluateJob } from './verdict.ts';
import { planJob } from './plan.ts';
import { TRACKING_FINALIZER, viewJob, type JobView } from './view.ts';

const MOST = 2147483647;

interface Input {
  readonly completions: number;
  readonly parallelism: number;
  readonly completed?: string;
  readonly failed?: string;
  readonly pods?: readonly Stored<Pod>[];
  readonly spec?: Partial<Job['spec']>;
}

function viewOf({ completions, parallelism, completed = '', failed, pods = [], spec = {} }: Input): JobView {
  const job = {
    metadata: { name: 'j', namespace: 'default', uid: 'j' },
    spec: { completionMode: 'Indexed', completions, parallelism, template: {}, ...spec },
    status: { completedIndexes: completed, ...(failed === undefined ? {} : { failedIndexes: failed }) },
  } as unknown as Stored<Job>;
  return viewJob(job, pods, { settled: new Set(), nowMs: 0 });
}

function podOf(index: number, phase = 'Running'): Stored<Pod> {
  return {
    metadata: {
      name: `j-${index}`,
      uid: `${index}`,
      annotations: { [COMPLETION_INDEX]: `${index}` },
      finalizers: [TRACKING_FINALIZER],
    },
    status: { phase },
  } as unknown as Stored<Pod>;
}

describe('the plan of an indexed job', () => {
  it('starts the lowest indexes without a pod and a result', () => {
    const random = createSeededRandom(3);
    let started = 0;
    for (let round = 0; round < 2000; round++) {
      const completions = 1 + random.int(20);
      const kinds = Array.from({ length: completions }, () => random.int(5));
      const of = (kind: number): number[] => [...kinds.keys()].filter((index) => kinds[index] === kind);
      const perIndex = random.int(2) === 0;
      const text = (kind: number): string => formatIndexes(IndexSet.EMPTY.with(of(kind)));
      const view = viewOf({
        completions,
        parallelism: random.int(20),
        completed: text(0),
        ...(perIndex ? { failed: text(1), spec: { backoffLimitPerIndex: 1 } } : {}),
        pods: [...of(2).map((index) => podOf(index)), ...of(3).map((index) => podOf(index, 'Succeeded'))],
      });
      const ended = new Set([...of(0), ...of(3), ...(perIndex ? of(1) : [])]);
      const taken = new Set([...ended, ...of(2)]);
      const wanted = Math.min(completions - ended.size, view.spec.parallelism ?? 1);
      const missing = Math.max(0, wanted - of(2).length);
      const expected = [...kinds.keys()].filter((index) => !taken.has(index)).slice(0, missing);
      assert.deepEqual(
        planJob(view).create.map(({ index }) => index),
        expected,
      );
      assert.equal(view.succeeded, of(0).length + of(3).length);
      started += expected.length;
    }
    assert.ok(started > 1000, `${started}`);
  });

  it('starts 500 of 2147483647 indexes, after those that have ended', () => {
    for (const spec of [{}, { backoffLimitPerIndex: 1 }]) {
      const view = viewOf({
        completions: MOST,
        parallelism: MOST,
        completed: '0-1999999999',
        pods: [podOf(2_000_000_001)],
        spec,
      });
      const indexes = planJob(view).create.map(({ index }) => index);
      assert.deepEqual([indexes.length, indexes[0], indexes[1]], [500, 2_000_000_000, 2_000_000_002]);
      assert.deepEqual(planJob(view).remove, []);
    }
  });

  it('evaluates a job of 2147483647 indexes whose status and policy name most of them', () => {
    const view = viewOf({
      completions: MOST,
      parallelism: 1,
      completed: `1-${MOST - 1}`,
      failed: '0',
      pods: [podOf(0, 'Succeeded')],
      spec: { backoffLimitPerIndex: 1, successPolicy: { rules: [{ succeededIndexes: `0-${MOST - 1}` }] } } as never,
    });
    assert.deepEqual([view.succeeded, view.failedIndexes.size], [MOST, 0]);
    assert.equal(evaluateJob(view)?.reason, 'SuccessPolicy');
    const { status } = addUncountedPods(view, view.job.status ?? {}, {
      verdict: evaluateJob(view),
      settled: new Set(),
    });
    assert.deepEqual([status.completedIndexes, status.succeeded, status.failedIndexes], [`0-${MOST - 1}`, MOST, '']);
  });

  it('waits for the latest of very many failures', () => {
    const failures = Array.from({ length: 200_000 }, (_, index) => podOf(index, 'Failed'));
    const { create, retryMs } = planJob(viewOf({ completions: MOST, parallelism: 1, pods: failures }));
    assert.deepEqual([create, retryMs], [[], 600_000]);
  });
});

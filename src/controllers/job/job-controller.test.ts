import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Jobs, Pods } from '../../api/gen/resources.ts';
import type { Job } from '../../api/gen/batch-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { createJobController } from './job-controller.ts';
import { formatIndexes, parseIndexes } from './indexes.ts';
import { startServerHarness, type ServerHarness } from '../server-harness-fixture.ts';

type Spec = NonNullable<Job['spec']>;

async function start(spec: Partial<Spec> = {}, restartPolicy = 'Never'): Promise<ServerHarness> {
  const h = await startServerHarness([createJobController]);
  await h.create(Jobs, {
    metadata: { name: 'j' },
    spec: { template: { spec: { restartPolicy, containers: [{ name: 'c', image: 'i' }] } }, ...spec },
  });
  await h.run(300);
  return h;
}
const job = (h: ServerHarness): Promise<Job> => h.get(Jobs, 'default/j');
const change = (h: ServerHarness, edit: (spec: Spec) => void) =>
  h.update(Jobs, 'default/j', (draft) => edit(draft.spec as Spec));
const conditions = async (h: ServerHarness): Promise<string[]> =>
  ((await job(h)).status?.conditions ?? []).map((c) => `${c.type}=${c.status} ${c.reason}: ${c.message}`);
/** The values of a metric of the job controller, by labels. */
const counts = async (h: ServerHarness, name: string): Promise<string[]> =>
  [...(await h.metrics.expose()).matchAll(new RegExp(`^job_controller_${name}({.*)$`, 'gm'))].map(([, told]) => told!);
const numbers = ({ status: { active = 0, succeeded = 0, failed = 0, terminating = 0 } = {} }: Job): object => ({
  active,
  succeeded,
  failed,
  terminating,
});
const indexOf = (pod: Pod): string => pod.metadata.labels?.['batch.kubernetes.io/job-completion-index'] ?? '';
const indexes = async (h: ServerHarness): Promise<string[]> => (await h.pods()).map(indexOf).sort();
async function finish(
  h: ServerHarness,
  phase: 'Succeeded' | 'Failed',
  which: (pod: Pod) => boolean = () => true,
  exitCode?: number,
): Promise<void> {
  for (const pod of (await h.pods()).filter(which)) await h.finish(pod, phase, exitCode);
  await h.run(300);
}

describe('job', () => {
  it('runs one pod to completion, counts it once and lets it go', async () => {
    const h = await start();
    const [pod] = await h.pods();
    assert.deepEqual(pod?.metadata.finalizers, ['batch.kubernetes.io/job-tracking']);
    let { status } = await job(h);
    assert.deepEqual([status?.active, status?.ready, status?.succeeded], [1, 1, undefined]);
    assert.ok(status?.startTime);
    await finish(h, 'Succeeded');
    ({ status } = await job(h));
    assert.deepEqual(
      [status?.active, status?.succeeded, status?.failed, status?.uncountedTerminatedPods],
      [undefined, 1, undefined, {}],
    );
    assert.ok(status?.completionTime);
    assert.deepEqual(await conditions(h), [
      'SuccessCriteriaMet=True CompletionsReached: Reached expected number of succeeded pods',
      'Complete=True CompletionsReached: Reached expected number of succeeded pods',
    ]);
    const [after] = await h.list(Pods);
    assert.equal(after?.metadata.finalizers, undefined);
    assert.ok((await h.events()).includes('Normal Completed Job completed'));
    const ended = (await h.metrics.expose()).matchAll(
      /^job_controller_terminated_pods_tracking_finalizer_total(.*)$/gm,
    );
    assert.deepEqual([...ended].map(([, told]) => told).sort(), ['{event="add"} 1', '{event="delete"} 1']);
    await h.stop();
  });

  it('writes nothing more once settled', async () => {
    const h = await start();
    const before = h.writes();
    await h.clock.advance(3_600_000);
    assert.equal(h.writes(), before);
    await h.stop();
  });

  it('runs at most parallelism pods, and completions in all', async () => {
    const h = await start({ completions: 5, parallelism: 2 });
    assert.equal((await h.pods()).length, 2);
    await finish(h, 'Succeeded');
    assert.equal((await h.pods()).length, 2);
    await finish(h, 'Succeeded');
    assert.equal((await h.pods()).length, 1);
    await finish(h, 'Succeeded');
    assert.equal((await job(h)).status?.succeeded, 5);
    assert.equal((await conditions(h)).at(-1)?.slice(0, 13), 'Complete=True');
    await h.stop();
  });

  it('without a number of completions is a work queue: after a success nothing new starts', async () => {
    const h = await start({ parallelism: 3 });
    assert.equal((await h.pods()).length, 3);
    const [first] = await h.pods();
    await finish(h, 'Succeeded', (pod) => pod.metadata.uid === first?.metadata.uid);
    assert.equal((await h.pods()).length, 2);
    await finish(h, 'Failed');
    assert.equal((await conditions(h)).at(-1)?.slice(0, 13), 'Complete=True');
    await h.stop();
  });

  it('follows parallelism; pods that are removed are no failures', async () => {
    const h = await start({ completions: 10, parallelism: 4 });
    await change(h, (spec) => void (spec.parallelism = 1));
    await h.run(300);
    assert.equal((await h.pods()).length, 1);
    const { status } = await job(h);
    assert.deepEqual([status?.active, status?.failed], [1, undefined]);
    await h.stop();
  });

  it('retries with growing pauses and fails beyond the back-off limit', async () => {
    const h = await start({ backoffLimit: 2 });
    for (const waitMs of [10_000, 20_000]) {
      await finish(h, 'Failed');
      assert.equal((await h.pods()).length, 0);
      await h.run(waitMs - 1000, { stepMs: 1000 });
      assert.equal((await h.pods()).length, 0, `still waits of ${waitMs}`);
      await h.run(2000, { stepMs: 500 });
      assert.equal((await h.pods()).length, 1);
    }
    await finish(h, 'Failed');
    const message = 'BackoffLimitExceeded: Job has reached the specified backoff limit';
    assert.deepEqual(await conditions(h), [`FailureTarget=True ${message}`, `Failed=True ${message}`]);
    assert.equal((await job(h)).status?.failed, 3);
    assert.ok((await h.events()).includes('Warning BackoffLimitExceeded Job has reached the specified backoff limit'));
    await h.stop();
  });

  it('fails after its deadline and deletes running pods', async () => {
    const h = await start({ activeDeadlineSeconds: 60, parallelism: 2, completions: 2 });
    await h.run(61_000, { stepMs: 1000 });
    assert.deepEqual(await conditions(h), [
      'FailureTarget=True DeadlineExceeded: Job was active longer than specified deadline',
      'Failed=True DeadlineExceeded: Job was active longer than specified deadline',
    ]);
    const { status } = await job(h);
    assert.deepEqual([status?.active, status?.terminating, status?.failed], [undefined, 0, 2]);
    assert.equal((await h.list(Pods)).length, 0);
    await h.stop();
  });

  it('deletes its pods while suspended and restarts its deadline when resumed', async () => {
    const h = await start({ parallelism: 2, completions: 2, activeDeadlineSeconds: 100 });
    const started = (await job(h)).status?.startTime;
    await change(h, (spec) => void (spec.suspend = true));
    await h.run(200_000, { stepMs: 10_000 });
    assert.equal((await h.pods()).length, 0);
    assert.deepEqual(await conditions(h), ['Suspended=True JobSuspended: Job suspended']);
    assert.equal((await job(h)).status?.failed, undefined);
    await change(h, (spec) => void (spec.suspend = false));
    await h.run(300);
    assert.equal((await h.pods()).length, 2);
    assert.deepEqual(await conditions(h), ['Suspended=False JobResumed: Job resumed']);
    assert.notEqual((await job(h)).status?.startTime, started);
    const events = await h.events();
    for (const event of ['Normal Suspended Job suspended', 'Normal Resumed Job resumed'])
      assert.ok(events.includes(event), event);
    await h.stop();
  });

  it('gives each pod of an indexed job its index, and replaces failed ones', async () => {
    const h = await start({ completionMode: 'Indexed', completions: 3, parallelism: 3 });
    assert.deepEqual(await indexes(h), ['0', '1', '2']);
    const pod = (await h.pods()).find((p) => indexOf(p) === '1') as Pod;
    assert.match(pod.metadata.name ?? '', /^j-1-/);
    assert.equal(pod.spec?.hostname, 'j-1');
    assert.equal(
      pod.spec?.containers[0]?.env?.[0]?.valueFrom?.fieldRef?.fieldPath,
      "metadata.labels['batch.kubernetes.io/job-completion-index']",
    );
    await finish(h, 'Failed', (p) => indexOf(p) === '1');
    await finish(h, 'Succeeded', (p) => indexOf(p) !== '1');
    assert.equal((await job(h)).status?.completedIndexes, '0,2');
    await h.run(11_000, { stepMs: 500 });
    assert.deepEqual(await indexes(h), ['1']);
    await finish(h, 'Succeeded');
    const { status } = await job(h);
    assert.deepEqual([status?.completedIndexes, status?.succeeded, status?.failed], ['0-2', 3, 1]);
    await h.stop();
  });

  it('limits retries per index and fails when all others are done', async () => {
    const h = await start({ completionMode: 'Indexed', completions: 2, parallelism: 2, backoffLimitPerIndex: 1 });
    await finish(h, 'Failed', (p) => indexOf(p) === '0');
    await h.run(11_000, { stepMs: 500 });
    const again = (await h.pods()).find((p) => indexOf(p) === '0');
    assert.equal(again?.metadata.annotations?.['batch.kubernetes.io/job-index-failure-count'], '1');
    await finish(h, 'Failed', (p) => indexOf(p) === '0');
    assert.deepEqual(await conditions(h), []);
    assert.equal((await job(h)).status?.failedIndexes, '0');
    await finish(h, 'Succeeded');
    assert.equal((await conditions(h)).at(-1), 'Failed=True FailedIndexes: Job has failed indexes');
    const { status } = await job(h);
    assert.deepEqual(
      [status?.completedIndexes, status?.failedIndexes, status?.failed, status?.succeeded],
      ['1', '0', 2, 1],
    );
    assert.ok((await h.list(Pods)).every((p) => p.metadata.finalizers === undefined));
    await h.stop();
  });

  it('stops at maxFailedIndexes', async () => {
    const h = await start({
      completionMode: 'Indexed',
      completions: 4,
      parallelism: 4,
      backoffLimitPerIndex: 0,
      maxFailedIndexes: 1,
    });
    await finish(h, 'Failed', (p) => indexOf(p) < '2');
    await h.run(500);
    assert.equal(
      (await conditions(h)).at(-1),
      'Failed=True MaxFailedIndexesExceeded: Job has exceeded the specified maximal number of failed indexes',
    );
    await h.stop();
  });

  const onExit = (action: string, values: number[]) => ({
    rules: [{ action, onExitCodes: { operator: 'In', values } }],
  });
  it('FailJob ends the job at once', async () => {
    const h = await start({ podFailurePolicy: onExit('FailJob', [42]), parallelism: 2, completions: 2 });
    const [pod] = await h.pods();
    await finish(h, 'Failed', (p) => p.metadata.uid === pod?.metadata.uid, 42);
    await h.run(500);
    const message = `Container c for pod default/${pod?.metadata.name} failed with exit code 42 matching FailJob rule at index 0`;
    assert.deepEqual(await conditions(h), [
      `FailureTarget=True PodFailurePolicy: ${message}`,
      `Failed=True PodFailurePolicy: ${message}`,
    ]);
    await h.stop();
  });

  it('Ignore does not count towards the limit', async () => {
    const h = await start({ podFailurePolicy: onExit('Ignore', [7]), backoffLimit: 0 });
    await finish(h, 'Failed', undefined, 7);
    assert.deepEqual(await conditions(h), []);
    assert.equal((await job(h)).status?.failed, undefined);
    await h.run(11_000, { stepMs: 500 });
    assert.equal((await h.pods()).length, 1);
    await finish(h, 'Failed', undefined, 8);
    assert.equal((await conditions(h)).at(-1)?.slice(0, 32), 'Failed=True BackoffLimitExceeded');
    await h.stop();
  });

  it('FailIndex fails one index, and the others continue', async () => {
    const h = await start({
      completionMode: 'Indexed',
      completions: 2,
      parallelism: 2,
      backoffLimitPerIndex: 5,
      podFailurePolicy: onExit('FailIndex', [42]),
    });
    await finish(h, 'Failed', (p) => indexOf(p) === '0', 42);
    assert.deepEqual([(await job(h)).status?.failedIndexes, await conditions(h)], ['0', []]);
    await h.run(11_000, { stepMs: 500 });
    assert.deepEqual(await indexes(h), ['1'], 'the index is not tried again');
    await finish(h, 'Succeeded');
    assert.equal((await conditions(h)).at(-1), 'Failed=True FailedIndexes: Job has failed indexes');
    assert.deepEqual(
      [
        await counts(h, 'job_finished_indexes_total'),
        await counts(h, 'job_pods_finished_total'),
        await counts(h, 'pod_failures_handled_by_failure_policy_total'),
      ],
      [
        ['{status="failed",backoffLimit="perIndex"} 1', '{status="succeeded",backoffLimit="perIndex"} 1'],
        ['{completion_mode="Indexed",result="failed"} 1', '{completion_mode="Indexed",result="succeeded"} 1'],
        ['{action="FailIndex"} 1'],
      ],
    );
    await h.stop();
  });

  it('the first matching rule counts, also by pod conditions; Count continues to the limit', async () => {
    const onPodConditions = [{ type: 'DisruptionTarget', status: 'True' }];
    const rules = [
      { action: 'Ignore', onPodConditions },
      { action: 'Count', onExitCodes: { operator: 'In', values: [7] } },
      { action: 'FailJob', onExitCodes: { operator: 'NotIn', values: [7] } },
    ];
    const h = await start({ podFailurePolicy: { rules }, backoffLimit: 1 });
    const [disrupted] = await h.pods();
    const key = `default/${disrupted?.metadata.name}`;
    const evicted = { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' };
    await h.update(
      Pods,
      key,
      (pod) => void (pod.status = { phase: 'Failed', conditions: [evicted as never] }),
      'status',
    );
    await h.run(300);
    assert.deepEqual([await conditions(h), (await job(h)).status?.failed], [[], undefined], 'ignored');
    await h.run(11_000, { stepMs: 500 });
    await finish(h, 'Failed', undefined, 7);
    assert.deepEqual([await conditions(h), (await job(h)).status?.failed], [[], 1], 'counted');
    await h.run(21_000, { stepMs: 500 });
    await finish(h, 'Failed', undefined, 8);
    assert.match(
      (await conditions(h)).at(-1) ?? '',
      /^Failed=True PodFailurePolicy: .* matching FailJob rule at index 2$/,
    );
    assert.deepEqual(await counts(h, 'pod_failures_handled_by_failure_policy_total'), [
      '{action="Ignore"} 1',
      '{action="Count"} 1',
      '{action="FailJob"} 1',
    ]);
    await h.stop();
  });

  it('a success policy ends the job before all have succeeded', async () => {
    const h = await start({
      completionMode: 'Indexed',
      completions: 3,
      parallelism: 3,
      successPolicy: { rules: [{ succeededIndexes: '0' }] },
    });
    for (const pod of await h.pods()) if (indexOf(pod) === '0') await h.finish(pod, 'Succeeded');
    await h.clock.advance(1000);
    assert.deepEqual(await conditions(h), ['SuccessCriteriaMet=True SuccessPolicy: Matched rules at index 0']);
    assert.deepEqual(numbers(await job(h)), { active: 0, succeeded: 1, failed: 0, terminating: 2 });
    await h.run(500);
    assert.deepEqual(await conditions(h), [
      'SuccessCriteriaMet=True SuccessPolicy: Matched rules at index 0',
      'Complete=True SuccessPolicy: Matched rules at index 0',
    ]);
    assert.equal((await h.pods()).length, 0);
    assert.deepEqual(
      numbers(await job(h)),
      { active: 0, succeeded: 1, failed: 0, terminating: 0 },
      'stopped, not failed',
    );
    assert.deepEqual(await counts(h, 'jobs_finished_total'), [
      '{completion_mode="Indexed",result="succeeded",reason="SuccessPolicy"} 1',
    ]);
    await h.stop();
  });

  for (const [policy, replaced, again] of [
    ['TerminatingOrFailed', 1, 'recreate_terminating_or_failed'],
    ['Failed', 0, 'recreate_failed'],
  ] as const) {
    it(`podReplacementPolicy ${policy} ${replaced === 1 ? 'does not wait' : 'waits'} for terminating pods`, async () => {
      const h = await start({ podReplacementPolicy: policy });
      const [pod] = await h.pods();
      await h.remove(Pods, `default/${pod?.metadata.name}`);
      await h.clock.advance(policy === 'Failed' ? 20_000 : 11_000);
      assert.equal((await h.pods()).length, replaced);
      assert.equal((await job(h)).status?.terminating, 1);
      await h.update(Pods, `default/${pod?.metadata.name}`, (p) => void (p.status = { phase: 'Failed' }), 'status');
      await h.clock.advance(20_000);
      assert.deepEqual(numbers(await job(h)), { active: 1, succeeded: 0, failed: 1, terminating: 0 });
      assert.deepEqual(await counts(h, 'job_pods_creation_total'), [
        '{reason="new",status="succeeded"} 1',
        `{reason="${again}",status="succeeded"} 1`,
      ]);
      await h.stop();
    });
  }

  it('leaves jobs of other managers alone', async () => {
    const h = await start({ managedBy: 'example.com/queue' });
    assert.equal((await h.pods()).length, 0);
    assert.equal((await job(h)).status?.startTime, undefined);
    await h.stop();
  });

  it('removes the finalizers of pods whose job is gone', async () => {
    const h = await start();
    await h.remove(Jobs, 'default/j');
    await h.run(300);
    assert.deepEqual(
      (await h.list(Pods)).map((pod) => pod.metadata.finalizers),
      [undefined],
    );
    await h.stop();
  });

  it('writes and reads index lists', () => {
    for (const text of ['', '0', '0,1', '0-2', '1,3-5,9', '0,2,4-6,8,9'])
      assert.equal(formatIndexes(parseIndexes(text, 100)), text);
    assert.deepEqual(parseIndexes('1-5', 3).intervals, [[1, 2]]);
    assert.equal(formatIndexes(parseIndexes('9-12,0,5-4,x,2-3,1', 11)), '0-3,9,10');
  });
});

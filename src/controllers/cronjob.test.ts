import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatTime, parseTime } from '../api/time.ts';
import {
  CronJobs,
  Jobs,
  ValidatingAdmissionPolicies,
  ValidatingAdmissionPolicyBindings,
} from '../api/gen/resources.ts';
import type { CronJob, Job } from '../api/gen/batch-v1.ts';
import { createCronJobController } from './cronjob/cronjob-controller.ts';
import { formatRfc1123 } from './cronjob/cron-jobs.ts';
import { mostRecentDue, nextDueMs, parseSchedule } from '../component-helpers/cron-schedule.ts';
import { createGarbageCollector } from './garbage-collector/garbage-collector.ts';
import { createJobController } from './job/job-controller.ts';
import { startServerHarness, type ServerHarness } from './server-harness-fixture.ts';
import { createTtlAfterFinishedController } from './ttl-after-finished/ttl-after-finished-controller.ts';

const jobTemplate = {
  spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
};
async function start(spec: Partial<CronJob['spec']> = {}): Promise<ServerHarness> {
  const h = await startServerHarness([
    createCronJobController,
    createJobController,
    createTtlAfterFinishedController,
    createGarbageCollector,
  ]);
  await h.create(CronJobs, { metadata: { name: 'tick' }, spec: { schedule: '*/10 * * * *', jobTemplate, ...spec } });
  return h;
}
const cronJob = (h: ServerHarness): Promise<CronJob> => h.get(CronJobs, 'default/tick');
const jobs = async (h: ServerHarness): Promise<string[]> =>
  (await h.list(Jobs)).map((job) => job.metadata.name ?? '').sort();
const MINUTES = 60_000;
const HOURS = 60 * MINUTES;
const coarse = { stepMs: MINUTES };
const hourly = { stepMs: HOURS };
const nameAt = (text: string): string => `tick-${parseTime(text) / MINUTES}`;
async function succeed(h: ServerHarness): Promise<void> {
  for (const pod of await h.pods()) await h.finish(pod, 'Succeeded');
  await h.run(200);
}

describe('cronjob', () => {
  it('starts a job at each time, named after it, and keeps the configured number of ended ones', async () => {
    const h = await start({ successfulJobsHistoryLimit: 2 });
    await h.run(9 * MINUTES, coarse);
    assert.deepEqual(await jobs(h), []);
    await h.run(2 * MINUTES, coarse);
    assert.deepEqual(await jobs(h), [nameAt('2026-01-01T00:10:00Z')]);
    const { status } = await cronJob(h);
    assert.deepEqual([status?.active?.length, status?.lastScheduleTime], [1, '2026-01-01T00:10:00Z']);
    const [job] = await h.list(Jobs);
    assert.equal(
      job?.metadata.annotations?.['batch.kubernetes.io/cronjob-scheduled-timestamp'],
      '2026-01-01T00:10:00Z',
    );
    await succeed(h);
    assert.equal((await cronJob(h)).status?.active, undefined);
    assert.ok((await cronJob(h)).status?.lastSuccessfulTime);
    for (let i = 0; i < 3; i++) {
      await h.run(10 * MINUTES, coarse);
      await succeed(h);
    }
    assert.deepEqual(await jobs(h), [nameAt('2026-01-01T00:30:00Z'), nameAt('2026-01-01T00:40:00Z')]);
    const events = await h.events();
    for (const event of [
      `Normal SuccessfulCreate Created job ${job?.metadata.name}`,
      `Normal SawCompletedJob Saw completed job: ${job?.metadata.name}, condition: Complete`,
      `Normal SuccessfulDelete Deleted job ${job?.metadata.name}`,
    ])
      assert.ok(events.includes(event), event);
    await h.stop();
  });

  for (const [policy, expected] of [
    ['Allow', ['00:10', '00:20']],
    ['Forbid', ['00:10']],
    ['Replace', ['00:20']],
  ] as const) {
    it(`concurrencyPolicy ${policy}`, async () => {
      const h = await start({ concurrencyPolicy: policy });
      await h.run(21 * MINUTES, coarse);
      assert.deepEqual(
        await jobs(h),
        expected.map((time) => nameAt(`2026-01-01T${time}:00Z`)),
      );
      assert.equal((await cronJob(h)).status?.active?.length, expected.length);
      await h.stop();
    });
  }

  it('reports a job that is missing, and one of another owner', async () => {
    const h = await start();
    await h.run(11 * MINUTES, coarse);
    const [job] = await h.list(Jobs);
    await h.update(Jobs, `default/${job!.metadata.name}`, (draft) => void delete draft.metadata.finalizers);
    await h.remove(Jobs, `default/${job!.metadata.name}`);
    const { uid = '' } = (await cronJob(h)).metadata;
    const owner = { apiVersion: 'batch/v1', kind: 'CronJob', name: 'tick', uid, controller: true };
    await h.create(Jobs, { metadata: { name: 'foreign', ownerReferences: [owner] }, spec: jobTemplate.spec });
    await h.run(5000);
    const events = await h.events();
    assert.ok(events.includes(`Normal MissingJob Active job went missing: ${job!.metadata.name}`), events.join('\n'));
    const unexpected = 'Warning UnexpectedJob Saw a job that the controller did not create or forgot: foreign';
    assert.ok(events.includes(unexpected), events.join('\n'));
    assert.equal((await cronJob(h)).status?.active, undefined);
    await h.stop();
  });

  it('does nothing while suspended, and afterwards runs only the latest missed time', async () => {
    const h = await start({ suspend: true });
    await h.run(35 * MINUTES, coarse);
    assert.deepEqual(await jobs(h), []);
    await h.update<CronJob>(CronJobs, 'default/tick', (draft) => void (draft.spec.suspend = false));
    await h.run(200);
    assert.deepEqual(await jobs(h), [nameAt('2026-01-01T00:30:00Z')]);
    await h.stop();
  });

  it('does not run times past their deadline', async () => {
    const h = await start({ suspend: true, startingDeadlineSeconds: 60 });
    await h.run(35 * MINUTES, coarse);
    await h.update<CronJob>(CronJobs, 'default/tick', (draft) => void (draft.spec.suspend = false));
    await h.run(4 * MINUTES, coarse);
    assert.deepEqual(await jobs(h), []);
    await h.run(2 * MINUTES, coarse);
    assert.deepEqual(await jobs(h), [nameAt('2026-01-01T00:40:00Z')]);
    await h.stop();
  });

  it('warns of more than 100 missed times and continues', async () => {
    const h = await start({ suspend: true, schedule: '* * * * *' });
    await h.clock.advance(1000 * MINUTES);
    await h.update<CronJob>(CronJobs, 'default/tick', (draft) => void (draft.spec.suspend = false));
    await h.run(200);
    assert.deepEqual(await jobs(h), [nameAt('2026-01-01T16:40:00Z')]);
    assert.ok(
      (await h.events()).includes(
        'Warning TooManyMissedTimes too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
      ),
    );
    await h.stop();
  });

  const due: [schedule: string, zone: string | undefined, earliest: string, now: string, latest: string | undefined][] =
    [
      ['0 * * * *', undefined, '2026-01-01T00:30:00Z', '2026-01-01T00:59:59Z', undefined],
      ['0 * * * *', undefined, '2026-01-01T00:30:00Z', '2026-01-01T01:00:00Z', '2026-01-01T01:00:00Z'],
      ['0 * * * *', undefined, '2026-01-01T00:30:00Z', '2026-01-02T00:30:00Z', '2026-01-02T00:00:00Z'],
      ['0 9 * * *', 'Asia/Tokyo', '2026-01-01T12:00:00Z', '2026-01-02T12:00:00Z', '2026-01-02T00:00:00Z'],
      ['0 9 * * *', 'America/New_York', '2026-07-01T00:00:00Z', '2026-07-01T23:00:00Z', '2026-07-01T13:00:00Z'],
      ['@every 90s', undefined, '2026-01-01T00:00:00Z', '2026-01-01T00:03:10Z', '2026-01-01T00:03:00Z'],
      ['@hourly', undefined, '2026-01-01T00:30:00Z', '2026-01-01T01:10:00Z', '2026-01-01T01:00:00Z'],
      ['0 0 1 * *', undefined, '2000-01-01T00:00:00Z', '2026-05-05T00:00:00Z', '2026-05-01T00:00:00Z'],
    ];
  for (const [schedule, zone, earliest, now, latest] of due) {
    it(`${schedule} in ${zone ?? 'UTC'} after ${earliest} at ${now}`, () => {
      const { latestMs } = mostRecentDue(parseSchedule(schedule, zone), parseTime(earliest), parseTime(now));
      assert.equal(latestMs === undefined ? undefined : formatTime(latestMs), latest);
    });
  }

  it('reports a schedule without a next time as invalid', async () => {
    const h = await start({ schedule: '0 0 31 2 *' });
    await h.run(1000);
    const told = 'Warning InvalidSchedule invalid schedule: 0 0 31 2 * : time difference between two schedules is less';
    assert.ok((await h.events()).includes(`${told} than 1 second`), (await h.events()).join('\n'));
    await h.stop();
  });

  it('follows a new schedule from its next time on', async () => {
    const h = await start({ schedule: '0 0 * * *' });
    await h.run(24 * HOURS, hourly);
    await h.run(MINUTES, coarse);
    assert.equal((await jobs(h)).length, 1);
    await succeed(h);
    await h.run(12 * HOURS, hourly);
    await h.update<CronJob>(CronJobs, 'default/tick', (draft) => void (draft.spec.schedule = '0 6 * * *'));
    await h.run(MINUTES, coarse);
    assert.equal((await jobs(h)).length, 1, 'it is noon: nothing is made up for');
    await h.update<CronJob>(CronJobs, 'default/tick', (draft) => void (draft.spec.timeZone = 'Asia/Tokyo'));
    await h.run(MINUTES, coarse);
    assert.equal((await jobs(h)).length, 1);
    await h.run(9 * HOURS, hourly);
    assert.deepEqual((await jobs(h)).at(-1), nameAt('2026-01-02T21:00:00Z'));
    await h.stop();
  });

  it('@every counts from the last time, whenever it is evaluated', () => {
    const hourly = parseSchedule('@every 1h', undefined);
    const at = (text: string): number => parseTime(`2026-01-01T${text}Z`);
    assert.equal(nextDueMs(hourly, at('00:00:00'), at('00:30:00')), at('01:00:00'));
    assert.equal(nextDueMs(hourly, at('00:00:00'), at('03:30:00')), at('04:00:00'));
  });

  it('continues where an old job cannot be deleted, and reports that', async () => {
    const h = await start({ successfulJobsHistoryLimit: 0, schedule: '*/10 * * * *' });
    const policies = h.admin.resource(ValidatingAdmissionPolicies);
    await policies.create({
      metadata: { name: 'keep' },
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: ['batch'], apiVersions: ['v1'], operations: ['DELETE'], resources: ['jobs'] }],
        },
        validations: [{ expression: 'false', message: 'jobs stay' }],
      },
    });
    await h.admin.resource(ValidatingAdmissionPolicyBindings).create({
      metadata: { name: 'keep' },
      spec: { policyName: 'keep', validationActions: ['Deny'] },
    });
    await h.run(11 * MINUTES, coarse);
    await succeed(h);
    await h.run(10 * MINUTES, coarse);
    assert.equal((await jobs(h)).length, 2);
    const denied = (await h.events()).filter((event) => /^Warning FailedDelete Deleted job: .*jobs stay/.test(event));
    assert.equal(denied.length > 0, true, (await h.events()).join('\n'));
    await h.stop();
  });

  const days: [schedule: string, next: string[]][] = [
    ['5/15 0 * * *', ['01T00:05', '01T00:20', '01T00:35', '01T00:50', '02T00:05']],
    ['*/70 * * * *', ['01T01:00', '01T02:00']],
    ['50-59/20 7 * * *', ['01T07:50', '02T07:50']],
    // Two restricted fields of days: either will do; a star, even in steps of one, restricts nothing.
    ['0 0 */10 * 1', ['05T00:00', '11T00:00', '12T00:00', '19T00:00', '21T00:00']],
    ['0 0 */1 * 1', ['05T00:00', '12T00:00']],
    ['0 0 1-31 * 1', ['02T00:00', '03T00:00']],
    ['0 0 *,3 * mon-tue', ['05T00:00', '06T00:00', '12T00:00']],
    ['0 0 ? * ?', ['02T00:00', '03T00:00']],
    ['0 0 * JAN Sat,SUN', ['03T00:00', '04T00:00', '10T00:00']],
  ];
  for (const [text, expected] of days)
    it(`${text} has the times of robfig/cron`, () => {
      const schedule = parseSchedule(text, undefined);
      let atMs = parseTime('2026-01-01T00:00:00Z');
      for (const next of expected) {
        atMs = schedule.nextMs(atMs)!;
        assert.equal(formatTime(atMs), `2026-01-${next}:00Z`);
      }
    });

  it('writes times as Go does', () =>
    assert.equal(formatRfc1123(parseTime('2026-03-08T07:05:09Z')), 'Sun, 08 Mar 2026 07:05:09 +0000'));
});

describe('ttl after finished', () => {
  it('deletes a finished job, and its pods with it, when its time is over', async () => {
    const h = await startServerHarness([createJobController, createTtlAfterFinishedController, createGarbageCollector]);
    const spec = { ...jobTemplate.spec, ttlSecondsAfterFinished: 60 };
    await h.create<Job>(Jobs, { metadata: { name: 'j' }, spec });
    await h.run(300);
    await succeed(h);
    await h.run(58_000, { stepMs: 1000 });
    assert.deepEqual(await jobs(h), ['j']);
    await h.run(4000, { stepMs: 500 });
    assert.deepEqual(await jobs(h), []);
    assert.deepEqual(await h.pods(), []);
    await h.stop();
  });
});

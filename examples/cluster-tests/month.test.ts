/**
 * A CronJob over a whole month: every night's run at its local time, the change to summer time among them, one that fails,
 * and what the history keeps. All else a cluster does in a month is done too: heartbeats, collectors, tokens. The node beats
 * every forty seconds in place of ten, still within what the node controller grants, which makes the month half as long.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type batchV1, Cluster, CronJobs, image, Jobs } from 'keelson/testing';

const finishes = { code: 0, after: '10m' };

test('a nightly backup over a month', async () => {
  await using cluster = await Cluster.start({
    startAt: '2026-03-01T00:00:00Z',
    nodes: [{ kubelet: { nodeLeaseDurationSeconds: 160 } }],
    images: [image('backup:1', { exits: finishes })],
  });
  await cluster.apply(`
apiVersion: batch/v1
kind: CronJob
metadata: { name: backup }
spec:
  schedule: '30 2 * * *'
  timeZone: Europe/Berlin
  successfulJobsHistoryLimit: 3
  failedJobsHistoryLimit: 1
  jobTemplate:
    spec:
      backoffLimit: 0
      template:
        spec:
          restartPolicy: Never
          containers: [{ name: backup, image: 'backup:1' }]
`);
  const runs = new Map<string, batchV1.JobStatus>();
  cluster.onPodChange(() => {
    for (const { metadata, status } of cluster.peek(Jobs)) runs.set(metadata.name!, status!);
  });

  await cluster.advance('13d');
  cluster.image('backup:1', { exits: { ...finishes, code: 1 } }); // The night to the 14th.
  await cluster.advance('1d');
  cluster.image('backup:1', { exits: finishes });
  await cluster.advance('17d');

  const nights = [...runs.values()].map(({ startTime }) => startTime);
  assert.deepEqual(
    nights,
    Array.from({ length: 31 }, (_, index) => {
      const day = String(index + 1).padStart(2, '0');
      if (index + 1 < 29) return `2026-03-${day}T01:30:00Z`;
      // On the 29th clocks go from 2:00 to 3:00: there is no 2:30, and the run comes at once.
      return index + 1 === 29 ? `2026-03-${day}T01:00:00Z` : `2026-03-${day}T00:30:00Z`;
    }),
  );
  const kept = cluster.peek(Jobs).map(({ status }) => [status?.startTime?.slice(0, 10), status?.succeeded ?? 0]);
  assert.deepEqual(kept.sort(), [
    ['2026-03-14', 0],
    ['2026-03-29', 1],
    ['2026-03-30', 1],
    ['2026-03-31', 1],
  ]);
  assert.equal(cluster.peek(CronJobs)[0]?.status?.lastSuccessfulTime, '2026-03-31T00:40:00Z');
});

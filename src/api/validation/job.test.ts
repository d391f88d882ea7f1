import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setJobDefaults } from '../defaults/batch.ts';
import type { Job } from '../gen/batch-v1.ts';
import { validateJob } from './job.ts';
import { complaints } from './complaints-fixture.ts';

const container = { name: 'c', image: 'nginx:1.25' };

test("the restart policy of a job's pods must not be Always", () => {
  const job: Job = {
    metadata: { name: 'j' },
    spec: {
      manualSelector: true,
      selector: { matchLabels: { x: 'y' } },
      template: { metadata: { labels: { x: 'y' } }, spec: { containers: [{ ...container }] } },
    },
  };
  setJobDefaults(job);
  assert.deepEqual(
    complaints((field) => validateJob(job, field)),
    ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
  );
});

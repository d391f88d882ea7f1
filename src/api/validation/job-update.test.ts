/** The fields of a job that may change. Upstream: ValidateJobUpdate, test/integration/job. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setJobDefaults } from '../defaults/batch.ts';
import { Field } from '../field-error.ts';
import type { Job, JobSpec } from '../gen/batch-v1.ts';
import type { PodSpec } from '../gen/core-v1.ts';
import { validateAll } from './complaints-fixture.ts';
import { validateJobUpdate } from './job.ts';

type Parts = Partial<JobSpec> & { readonly pod?: Partial<PodSpec>; readonly labels?: Record<string, string> };

function jobOf({ pod, labels, ...spec }: Parts, status: Job['status'] = {}): Job {
  const job: Job = {
    metadata: { name: 'j', namespace: 'ns' },
    spec: {
      manualSelector: true,
      selector: { matchLabels: { x: 'y' } },
      template: {
        metadata: { labels: { x: 'y', ...labels } },
        spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }], ...pod },
      },
      ...spec,
    },
    status,
  };
  setJobDefaults(job);
  return job;
}

function complaints(job: Job, old: Job): string[] {
  const field = Field.root();
  validateAll(validateJobUpdate(job, old, field));
  // The quoted value is the whole template.
  return field.errors.map(({ field: at, text }) => `${at}: ${text.replace(/^(Invalid value: )\{.*\}: /s, '$1… ')}`);
}

const FIXED = ['spec.template: Invalid value: … field is immutable'];
/** The error when a change goes beyond the mutable part of a suspended job's template. */
const FIXED_SPEC = ['spec.template.spec: Invalid value: … field is immutable'];
const sized = (cpu: string): Partial<PodSpec> => ({
  containers: [{ name: 'c', image: 'i', resources: { requests: { cpu } } }],
});
const term = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'Exists' }] }] };
const onNodes = { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: term } } };
const besidePods = {
  affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone' }] } },
};

describe('parts of the template may change while the job is suspended', () => {
  const rest: Parts = { suspend: true };
  const begun = { startTime: '2026-01-01T00:00:00Z' };
  const told = { ...begun, conditions: [{ type: 'Suspended', status: 'True' }] };
  const cases: [what: string, old: [Parts, Job['status']?], now: Parts, refused: string[]][] = [
    ['of a running job is fixed', [{}], { pod: { nodeSelector: { zone: 'a' } } }, FIXED],
    ['of a job at rest may say where', [rest], { ...rest, pod: { nodeSelector: { zone: 'a' }, ...onNodes } }, []],
    ['may take back where', [{ ...rest, pod: onNodes }], rest, []],
    ['may take tolerations', [rest], { ...rest, pod: { tolerations: [{ operator: 'Exists' }] } }, []],
    ['may take gates', [rest], { ...rest, pod: { schedulingGates: [{ name: 'a.b/c' }] } }, []],
    ['may take labels', [rest], { ...rest, labels: { a: 'b' } }, []],
    [
      'may not give up what makes pods its own',
      [rest],
      { ...rest, labels: { x: 'z' } },
      // As upstream, the spec is checked twice.
      Array<string>(2).fill(
        'spec.template.metadata.labels: Invalid value: … `selector` does not match template `labels`',
      ),
    ],
    ['may say how large', [{ ...rest, pod: sized('1') }], { ...rest, pod: sized('2') }, []],
    ['may say so while it goes on', [rest], { suspend: false, pod: { ...sized('2'), ...onNodes } }, []],
    ['is another program never', [rest], { ...rest, pod: { containers: [{ name: 'c', image: 'other' }] } }, FIXED_SPEC],
    ['nor beside other pods', [rest], { ...rest, pod: besidePods }, FIXED_SPEC],
    ['of a job that stops just now is fixed', [rest, { active: 1 }], { ...rest, pod: sized('2') }, FIXED],
    ['of a job that began is fixed', [rest, begun], { ...rest, pod: sized('2') }, FIXED],
    ['until it is said to be suspended', [rest, told], { ...rest, pod: { ...sized('2'), ...onNodes } }, []],
  ];
  for (const [what, [old, status], now, refused] of cases)
    it(what, () => assert.deepEqual(complaints(jobOf(now), jobOf(old, status)), refused));
});

describe('completions may change only together with parallelism in elastic indexed jobs', () => {
  const indexed = (completions: number, parallelism: number): Parts => ({
    completionMode: 'Indexed',
    completions,
    parallelism,
  });
  const cases: [what: string, old: Parts, now: Parts, refused: string[]][] = [
    ['is fixed', { completions: 2 }, { completions: 3 }, ['spec.completions: Invalid value: 3: field is immutable']],
    ['of an indexed job goes with its parallelism', indexed(2, 2), indexed(4, 4), []],
    [
      'and never alone',
      indexed(2, 2),
      indexed(4, 2),
      ['spec.completions: Invalid value: 4: can only be modified in tandem with spec.parallelism'],
    ],
    ['nor is it in the way of parallelism', indexed(4, 4), indexed(4, 2), []],
  ];
  for (const [what, old, now, refused] of cases)
    it(what, () => assert.deepEqual(complaints(jobOf(now), jobOf(old)), refused));
});

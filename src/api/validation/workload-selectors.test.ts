import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Steps } from '../../base/steps.ts';
import { Field } from '../field-error.ts';
import { validateAll } from './complaints-fixture.ts';
import { validateDeployment, validateReplicaSet, validateReplicationController } from './apps.ts';
import { validateDaemonSet } from './daemon-set.ts';
import { validateJob } from './job.ts';
import { validateStatefulSet } from './stateful-set.ts';

const MISMATCH = 'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`';
const REQUIRED = 'spec.selector: Required value';

function causes(validate: (object: never, field: Field) => Steps<void> | void, spec: object): string[] {
  const root = Field.root();
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [], restartPolicy: 'Always' } };
  validateAll(validate({ metadata: { name: 'a' }, spec: { template, ...spec } } as never, root));
  return root.errors.map(({ field, text }) => `${field}: ${text}`).filter((text) => /selector|labels/.test(text));
}

const kinds: readonly [string, (object: never, field: Field) => Steps<void> | void, string[]][] = [
  ['deployment', validateDeployment, [REQUIRED, MISMATCH]],
  ['replica set', validateReplicaSet, [REQUIRED, MISMATCH]],
  ['stateful set', validateStatefulSet, [REQUIRED, MISMATCH]],
  ['daemon set', validateDaemonSet, [MISMATCH]],
  ['job', validateJob, [REQUIRED, MISMATCH]],
  ['replication controller', validateReplicationController, [REQUIRED]],
];

for (const [kind, validate, wanted] of kinds)
  test(`a ${kind} without a selector has upstream's error`, () => assert.deepEqual(causes(validate, {}), wanted));

test('an empty selector is not also reported as mismatching the template', () => {
  for (const [kind, validate] of kinds.slice(0, 4))
    assert.match(
      causes(validate, { selector: {} }).join('\n'),
      /^spec\.selector: Invalid value: \{\}: empty selector is .*$/,
      kind,
    );
});

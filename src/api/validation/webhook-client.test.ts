import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field } from '../field-error.ts';
import { validateWebhookClient } from './webhook-client.ts';

const cases: readonly [path: string, ...problems: readonly string[]][] = [
  [''],
  ['/'],
  ['/always-deny'],
  ['/a/b/'],
  ['//', 'segment[0] may not be empty'],
  ['hook', "must start with a '/'"],
  ['h', "must start with a '/'", 'segment[0] may not be empty'],
  ['a/b//c', "must start with a '/'", 'segment[0] may not be empty', 'segment[2] may not be empty'],
  ['/a//b', 'segment[1] may not be empty'],
];

for (const [path, ...problems] of cases)
  test(`a webhook's service path ${JSON.stringify(path)}: ${problems.join() || 'sound'}`, () => {
    const field = Field.root();
    validateWebhookClient({ service: { name: 'hook', namespace: 'default', path } }, field.at('clientConfig'));
    assert.deepEqual(
      field.errors.map((error) => [error.field, error.text]),
      problems.map((problem) => ['clientConfig.service.path', `Invalid value: ${JSON.stringify(path)}: ${problem}`]),
    );
  });

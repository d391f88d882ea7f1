/** Errors that name fields stay short when a client sends a key of half a megabyte above thousands of fields. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatPath } from '../codec/json-parser.ts';
import { pruneUnknown } from '../codec/prune.ts';
import { describeConflicts } from './conflicts.ts';
import { formatFieldPath, type FieldSet } from './field-set.ts';
import type { Manager } from './managers.ts';

const LONG = 'k'.repeat(440_000);
const names = Array.from({ length: 14_000 }, (_, index) => `k${index}`);

test('paths in errors are truncated to a thousand characters', () => {
  for (const path of [
    formatPath(['spec', LONG, 'a']),
    formatPath([LONG]),
    formatPath(Array<string>(5000).fill('deep')),
    ...[`f:${LONG}`, `k:{"name":"${LONG}"}`, `v:"${LONG}"`].map((element) =>
      formatFieldPath(['f:spec', element, 'f:a']),
    ),
  ])
    assert.equal(path.length, 1001, path.slice(0, 20));
  assert.equal(formatPath(['spec', 'items', 3, 'name']), 'spec.items[3].name');
  assert.equal(formatFieldPath(['f:spec', 'k:{"name":"a"}', 'i:2', 'v:"x"']), '.spec[name="a"][2][="x"]');
});

test('a thousand of many conflicts are listed, and all are counted', () => {
  const fields = { 'f:spec': { [`f:${LONG}`]: Object.fromEntries(names.map((name) => [`f:${name}`, {}])) } };
  const manager = { manager: 'm', operation: 'Apply', apiVersion: 'v1', subresource: '' } as Manager;
  const { message, causes } = describeConflicts([
    { manager, fields: fields as unknown as FieldSet },
    { manager: { ...manager, manager: 'n' }, fields: fields as unknown as FieldSet },
  ]);
  assert.ok(message.startsWith('Apply failed with 28000 conflicts: conflicts with "m":\n- .spec.kkk'));
  assert.match(message.slice(-80), /- and 13000 more\nconflicts with "n":\n- and 14000 more$/);
  assert.equal(causes.length, 1000);
  assert.ok(JSON.stringify({ message, causes }).length < 3_000_000);
});

test('a hundred of many unknown fields are listed', () => {
  const schema = {
    kind: 'struct',
    fields: new Map([['of', { type: { kind: 'map', values: { kind: 'struct', fields: new Map() } } }]]),
  };
  const value = { of: { [LONG]: Object.fromEntries(names.map((name) => [name, 1])) } };
  const { unknown } = pruneUnknown(schema as never, value);
  assert.equal(unknown.length, 100);
  assert.ok(unknown.every((text) => text.length < 1100));
});

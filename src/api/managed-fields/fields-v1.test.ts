import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFieldsV1 } from './fields-v1.ts';
import { readManagers } from './managers.ts';

for (const [what, fields] of [
  ['a text for a node', { 'f:data': 'text' }],
  ['a list for a node', { 'f:data': { 'f:a': [] } }],
  ['a number for a node', { 'f:data': 1 }],
  ['a text for the root', 'text'],
  ['an element of one character', { f: {} }],
  ['an empty element', { '': {} }],
  ['an element without a colon', { 'f:data': { hasOwnProperty: {} } }],
  ['the name of a prototype', JSON.parse('{"f:data":{"__proto__":{}}}')],
  ['keys that are no JSON', { 'f:a': { 'k:{': {} } }],
  ['keys that are a list', { 'f:a': { 'k:[1]': {} } }],
  ['a value that is no JSON', { 'f:a': { 'v:x': {} } }],
  ['two values', { 'f:a': { 'v:1 2': {} } }],
  ['an index that is no number', { 'f:a': { 'i:x': {} } }],
] as const)
  test(`${what} makes fieldsV1 malformed`, () => assert.equal(readFieldsV1(fields), 'malformed'));

test('all known kinds of elements are read, and null is an empty node', () => {
  const fields = { 'f:a': { '.': {}, 'k:{"name":"b"}': { 'f:c': {} }, 'v:"x"': {}, 'i:-1': {} } };
  assert.deepEqual(readFieldsV1(fields), { set: fields });
  assert.deepEqual(readFieldsV1({ 'f:a': null }), { set: { 'f:a': {} } });
  assert.deepEqual(readFieldsV1({ 'f:a': { '.': 'anything', 'f:b': {} } }), { set: { 'f:a': { '.': {}, 'f:b': {} } } });
});

test('elements of unknown kinds are left out with everything below them', () =>
  assert.deepEqual(readFieldsV1({ 'f:a': { 'x:b': { 'f:c': 1 } }, 'y:': [] }), { set: { 'f:a': {} } }));

test('null, an empty object and an object with only its own mark are the empty set', () => {
  for (const fields of [undefined, null, {}, { '.': {} }]) assert.deepEqual(readFieldsV1(fields), { set: undefined });
});

test('an entry without operation, version or type of fields makes all entries unreadable', () => {
  const entry = {
    manager: 'm',
    operation: 'Update',
    apiVersion: 'v1',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:a': {} },
  };
  assert.equal(readManagers([entry])?.size, 1);
  for (const name of ['operation', 'apiVersion', 'fieldsType'] as const)
    for (const value of [undefined, '', 'X'].filter((text) => name !== 'apiVersion' || text !== 'X'))
      assert.equal(readManagers([entry, { ...entry, [name]: value } as typeof entry]), undefined, `${name} ${value}`);
});

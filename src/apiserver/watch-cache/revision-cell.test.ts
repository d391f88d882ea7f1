import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeStored, RevisionCell } from './revision-cell.ts';

const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a', namespace: 'n' }, data: { key: 'value' } };

test('what a cell keeps shares its memory with nothing else', () => {
  const cell = new RevisionCell('/a', 7, encodeStored(object));
  for (const kept of [encodeStored(object), cell.json(), cell.at(8).json()])
    assert.equal(kept.buffer.byteLength, kept.byteLength);
});

test('the state an object had when it went says so under the revision of its end', () => {
  const cell = new RevisionCell('/a', 7, encodeStored(object));
  const asRead = (resourceVersion: string) => ({ ...object, metadata: { ...object.metadata, resourceVersion } });
  assert.deepEqual(JSON.parse(cell.json().toString()), asRead('7'));
  assert.deepEqual(JSON.parse(cell.at(1234).json().toString()), asRead('1234'));
});

test('an object that was forgotten is read from the bytes again', () => {
  const cell = new RevisionCell('/a', 7, encodeStored(object));
  const before = cell.object();
  cell.dropDecoded();
  assert.notEqual(cell.object(), before);
  assert.deepEqual(cell.object(), before);
});

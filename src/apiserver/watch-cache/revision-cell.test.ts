import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createNodeClock } from '../../platform/node/clock.ts';
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

test('an object at rest is the same as long as somebody holds it, and is read from the bytes otherwise', async () => {
  const cell = new RevisionCell('/a', 7, encodeStored(object));
  const held = cell.object();
  cell.rest();
  assert.ok(!cell.isDecoded);
  assert.equal(cell.object(), held);
  const released = new RevisionCell('/b', 8, encodeStored(object));
  const gone = new WeakRef(released.object());
  released.rest();
  await createNodeClock().yield(); // A WeakRef holds its object for the running turn.
  collectGarbage();
  assert.equal(gone.deref(), undefined);
  assert.deepEqual(released.object().metadata, { ...object.metadata, resourceVersion: '8' });
});

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createNodeClock } from '../../platform/node/clock.ts';
import { restampStored, RevisionCell } from './revision-cell.ts';
import { encodeStored } from './stored-bytes.ts';

const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a', namespace: 'n' }, data: { key: 'value' } };

test('the bytes of a cell share memory with nothing else', () => {
  const cell = new RevisionCell('/a', 7, encodeStored(object));
  for (const kept of [encodeStored(object), cell.jsonLine(), cell.at(8).jsonLine()])
    assert.equal(kept.buffer.byteLength, kept.byteLength);
});

test('the last state of a deleted object has the revision of its deletion', () => {
  const cell = new RevisionCell('/a', 7, encodeStored(object));
  const asRead = (resourceVersion: string) => ({ ...object, metadata: { ...object.metadata, resourceVersion } });
  assert.deepEqual(JSON.parse(cell.jsonLine().toString()), asRead('7'));
  assert.deepEqual(JSON.parse(cell.at(1234).jsonLine().toString()), asRead('1234'));
});

test('the pieces of the text are the text, whatever the bytes hold and whether the text is there already', () => {
  const values = [
    encodeStored(object),
    encodeStored({ kind: 'ConfigMap', apiVersion: 'v1', metadata: {} } as never),
    encodeStored({ ...object, data: { key: '\u00e9\u{1f600}"metadata":{' } } as never),
    Buffer.from('{"metadata":{"name":"a"},"kind":"ConfigMap","apiVersion":"v1"}'),
    Buffer.from('{"apiVersion":"v1", "kind":"ConfigMap", "metadata": {"name":"a"}}'),
  ];
  for (const value of values) {
    const cell = new RevisionCell('/a', 7, Buffer.from(value));
    const pieces = Buffer.concat(cell.jsonPieces()).toString();
    assert.equal(pieces, cell.jsonLine().toString());
    assert.equal(Buffer.concat(cell.jsonPieces()).toString(), pieces);
  }
});

test('an object that was forgotten is read from the bytes again', () => {
  const cell = new RevisionCell('/a', 7, encodeStored(object));
  const before = cell.object();
  cell.dropDecoded();
  assert.notEqual(cell.object(), before);
  assert.deepEqual(cell.object(), before);
});

test('bytes have null where Go writes it, and the object read from them does not', () => {
  const role = { kind: 'Role', apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'a' }, rules: [] };
  const cell = new RevisionCell('/a', 7, Buffer.from(encodeStored(role)));
  assert.deepEqual(cell.object(), { ...role, metadata: { name: 'a', resourceVersion: '7' } });
  assert.match(cell.jsonLine().toString(), /,"rules":null\}\n$/u);
});

test('a decoded object is the same as long as it is referenced, and is decoded again otherwise', async () => {
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

test('other forms of an object are encoded again, except those that were given', async () => {
  const cell = new RevisionCell('/a', 7, encodeStored(object));
  const views = () => [cell.view('own', () => cell.object()), cell.view('given', () => assert.fail('not kept'))];
  const gone = new WeakRef(cell.view('own', () => cell.object()));
  cell.setView('given', 'by a webhook');
  assert.equal(views()[1], 'by a webhook');
  cell.rest();
  await createNodeClock().yield();
  collectGarbage();
  assert.equal(gone.deref(), undefined);
  assert.deepEqual([cell.hasView('own'), cell.hasView('given')], [false, true]);
  assert.deepEqual(views(), [cell.object(), 'by a webhook']);
});

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

test('an object of which only times are others is stamped, not encoded, and reads the same', () => {
  const lease = (label: string, time: string) => ({
    kind: 'Lease',
    apiVersion: 'coordination.k8s.io/v1',
    metadata: { name: 'ä', annotations: { renewTime: label } },
    spec: { renewTime: time, text: '"renewTime":"10:00"' },
  });
  const stamp = { name: 'renewTime', before: '10:00', after: '10:10' };
  const stamped = (cell: RevisionCell, to = stamp) => restampStored(cell, [to], lease('no', to.after));
  const cell = new RevisionCell('/a', 7, encodeStored(lease('no', '10:00')));
  const bytes = stamped(cell)!;
  assert.deepEqual(bytes, encodeStored(lease('no', '10:10')));
  const next = new RevisionCell('/a', 8, bytes);
  assert.equal(next.isDecoded, true);
  const again = restampStored(next, [{ ...stamp, before: '10:10', after: '10:20' }], lease('no', '10:20'));
  assert.deepEqual(again, encodeStored(lease('no', '10:20')));
  assert.deepEqual(cell.own?.bytes, encodeStored(lease('no', '10:00')));

  assert.equal(stamped(cell, { ...stamp, after: 'later than that' }), undefined);
  assert.equal(stamped(cell, { ...stamp, before: '09:00' }), undefined);
  // Not stamped: a time that occurs twice, foreign encodings, and values that are no longer in memory.
  assert.equal(stamped(new RevisionCell('/a', 7, encodeStored(lease('10:00', '10:00')))), undefined);
  assert.equal(stamped(new RevisionCell('/a', 7, Buffer.from(JSON.stringify(lease('no', '10:00'))))), undefined);
  cell.jsonLine();
  assert.equal(stamped(cell), undefined);
});

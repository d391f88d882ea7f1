import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ConfigMap } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { RevisionCell } from './revision-cell.ts';
import { shareDecoded } from './shared-decoding.ts';

const KEY = '/registry/configmaps/default/one';
const bytesOf = (value: object): Uint8Array => Buffer.from(JSON.stringify(value));
const MAP = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'one' }, data: { a: 'b' } };

test('cells of shared bytes have one object, each with its own revision', () => {
  const value = bytesOf(MAP);
  const cells = [4, 9].map((revision) => {
    shareDecoded({ key: KEY, value, modRevision: 2, createRevision: 2 });
    return new RevisionCell(KEY, revision, value);
  });
  const [first, second] = cells.map((cell) => cell.object() as Stored<ConfigMap>);
  assert.equal(first!.data, second!.data);
  assert.deepEqual(
    [first, second].map((object) => object!.metadata.resourceVersion),
    ['4', '9'],
  );
  const alone = new RevisionCell(KEY, 9, bytesOf(MAP));
  assert.deepEqual(second, alone.object());
  assert.equal(cells[1]!.jsonLine().toString(), alone.jsonLine().toString());
  // Their layout is unknown, so they are encoded and not stamped.
  assert.equal(cells[0]!.own, undefined);
});

test('values that are no objects are passed over', () => {
  const value = bytesOf({ range: 'AAEC' });
  shareDecoded({ key: '/registry/ranges/ips', value, modRevision: 1, createRevision: 1 });
  assert.equal(new RevisionCell('/registry/ranges/ips', 1, value).isDecoded, false);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compareKeys, inRange } from './key-order.ts';

test('keys compare as their UTF-8 bytes do', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
      assert.equal(Math.sign(compareKeys(a, b)), Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
  assert.ok(compareKeys('\uFFFD', '\u{1F600}') < 0);
});

test('an empty end means the start alone', () => {
  assert.deepEqual(
    ['a', 'ab', 'b'].map((key) => inRange(key, 'a', '')),
    [true, false, false],
  );
  assert.deepEqual(
    ['a', 'ab', 'b'].map((key) => inRange(key, 'a', 'b')),
    [true, true, false],
  );
});

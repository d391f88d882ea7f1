import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';

import { sha256Hex } from './sha256.ts';

test('hashes are those of OpenSSL, for every length around a block, and for texts', () => {
  for (let length = 0; length < 200; length++) {
    const data = Uint8Array.from({ length }, (_, at) => (at * 7 + length) % 256);
    assert.equal(sha256Hex(data), createHash('sha256').update(data).digest('hex'), `${length} bytes`);
  }
  assert.equal(sha256Hex('größer 😀'), createHash('sha256').update('größer 😀').digest('hex'));
});

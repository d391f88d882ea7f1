/** How much the heads of waiting requests may hold. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WaitingHeads } from './waiting-heads.ts';

const KIB = 1024;

test('an address has at most its share, all together the total; a closed connection makes room', () => {
  const heads = new WaitingHeads({ totalBytes: 100 * KIB, flowBytes: 50 * KIB });
  const lines = ['x', 'v'.repeat(12 * KIB - 1)];
  const [first, second] = [heads.enter('a', lines), heads.enter('a', lines)];
  assert.equal(first, 20 * KIB);
  assert.equal(heads.enter('a', lines), undefined);
  assert.equal(heads.enter('b', lines), 20 * KIB);
  heads.leave('a', second!);
  assert.equal(heads.enter('a', lines), 20 * KIB);
  assert.equal(heads.enter(undefined, lines), 20 * KIB);
  assert.equal(heads.enter(undefined, lines), 20 * KIB);
  assert.equal(heads.enter(undefined, lines), undefined);
});

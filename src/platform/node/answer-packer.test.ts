import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { AnswerPacker } from './answer-packer.ts';

const { signal } = new AbortController();
const answer = (): Buffer[] => [Buffer.alloc(300_000, 'a'), Buffer.alloc(0), randomBytes(700_000), Buffer.from('end')];

test('a compressed response decompresses to the response, for pieces of any size', async () => {
  const pieces = answer();
  const packed = await new AnswerPacker().pack(pieces, signal);
  assert.deepEqual(gunzipSync(Buffer.concat(packed!)), Buffer.concat(pieces));
});

test('of a hundred simultaneous responses two are compressed; when they are done others are', async () => {
  const packer = new AnswerPacker();
  const all = await Promise.all(Array.from({ length: 100 }, () => packer.pack(answer(), signal)));
  assert.equal(all.filter((packed) => packed !== undefined).length, 2);
  assert.notEqual(await packer.pack(answer(), signal), undefined);
});

test('an aborted response is dropped at once, at any time, and makes room', async () => {
  const packer = new AnswerPacker();
  for (let turns = 0; turns < 12; turns++) {
    const late = new AbortController();
    const pieces = Array.from({ length: 40 }, () => randomBytes(256 * 1024));
    const packing = packer.pack(pieces, late.signal);
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
    late.abort();
    assert.equal(await packing, undefined);
  }
  assert.equal(await packer.pack(answer(), AbortSignal.abort()), undefined);
  const both = await Promise.all([packer.pack(answer(), signal), packer.pack(answer(), signal)]);
  assert.ok(both.every((packed) => packed !== undefined));
});

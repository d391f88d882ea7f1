/** Bodies in chunks of any size: the bytes stay the same, and small chunks keep no buffer of their own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BodyBuffer } from './body-buffer.ts';

const bytesFrom = (start: number, length: number): Buffer =>
  Buffer.from(Array.from({ length }, (_, at) => (start + at) % 251));

test('added bytes are returned in order, whatever the sizes of the chunks', () => {
  const sizes = [1, 0, 3, 4095, 4096, 4097, 1, 16_384, 20_000, 1, 1, 10_000, 4000, 4000, 4000, 4000, 4000, 7];
  const body = new BodyBuffer();
  let length = 0;
  for (const size of sizes) {
    body.add(bytesFrom(length, size));
    length += size;
  }
  assert.equal(body.length, length);
  assert.deepEqual(Buffer.from(body.take()), bytesFrom(0, length));
});

test('a body of one chunk is not copied, an empty one is empty', () => {
  const chunk = bytesFrom(0, 100);
  const body = new BodyBuffer();
  body.add(chunk);
  assert.equal(body.take(), chunk);
  assert.equal(new BodyBuffer().take().byteLength, 0);
});

test('small chunks are copied: the read they are parts of does not stay in memory', () => {
  const body = new BodyBuffer();
  const read = Buffer.alloc(64 * 1024);
  for (let at = 0; at < 100_000; at++) body.add(read.subarray(0, 1));
  const whole = body.take();
  assert.equal(whole.byteLength, 100_000);
  assert.notEqual(whole.buffer, read.buffer);
});

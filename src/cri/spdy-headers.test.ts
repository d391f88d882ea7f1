import assert from 'node:assert/strict';
import { test } from 'node:test';
import { constants, deflateRawSync } from 'node:zlib';

import { inflateRaw } from '../platform/node/compression.ts';
import { isProgramError } from '../platform/unexpected.ts';
import { createHeaderReader } from './spdy-headers.ts';

/** The zlib head that names SPDY/3's dictionary. */
const zlibHead = Buffer.from([0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2]);

function blockOf(headers: Readonly<Record<string, string>>): Buffer {
  const entries = Object.entries(headers);
  const texts = entries.flat().map((text) => {
    const bytes = Buffer.from(text);
    const size = Buffer.alloc(4);
    size.writeUInt32BE(bytes.length);
    return Buffer.concat([size, bytes]);
  });
  const count = Buffer.alloc(4);
  count.writeUInt32BE(entries.length);
  return Buffer.concat([count, ...texts]);
}

/** Kinds of blocks: stored, with fixed trees, with trees of their own. */
const levels: readonly (readonly [string, object])[] = [
  ['stored', { level: 0 }],
  ['fixed', { level: 9, strategy: constants.Z_FIXED }],
  ['dynamic', { level: 9, strategy: constants.Z_DEFAULT_STRATEGY }],
];

for (const [name, options] of levels) {
  test(`headers of ${name} blocks are read, one block after the other`, () => {
    const read = createHeaderReader(inflateRaw);
    const many = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [`header-${at}`, `${at * at} and ${'x'.repeat(at)}`]),
    );
    for (const [at, headers] of [{ streamtype: 'error', port: '8080', requestid: '0' }, many].entries()) {
      const deflated = deflateRawSync(blockOf(headers), { ...options, finishFlush: constants.Z_SYNC_FLUSH });
      const block = at === 0 ? Buffer.concat([zlibHead, deflated]) : deflated;
      assert.deepEqual(Object.fromEntries(read(block)), headers);
    }
  });
}

test('a compressor that refers to the dictionary of the protocol is understood', () => {
  const block = Buffer.from(
    '78f9e3c6a7c20265252c850917c21590d2b9089c112c0c2c0c5052342f4a9c612458615010eb28a0b8089172812c711c5107000000ffff',
    'hex',
  );
  assert.deepEqual(Object.fromEntries(createHeaderReader(inflateRaw)(block)), {
    'content-type': 'text/plain',
    port: '8080',
    status: '404 Not Found',
    'set-cookie': 'Sept, charset=utf-8',
    origin: '503 Service Unavailable',
  });
});

test('a header may repeat bytes 32 KiB before, over many blocks', () => {
  const read = createHeaderReader(inflateRaw);
  const value = 'abcdefghijklmnopqrstuvwxyz'.repeat(40);
  let before = Buffer.alloc(0);
  for (let at = 0; at < 80; at++) {
    const headers = { [`header-${at}`]: `${value}${at}` };
    const plain = blockOf(headers);
    const options = { level: 9, finishFlush: constants.Z_SYNC_FLUSH, dictionary: before.subarray(-32 * 1024) };
    const deflated = deflateRawSync(plain, before.length === 0 ? { ...options, dictionary: undefined } : options);
    before = Buffer.concat([before, plain]);
    assert.deepEqual(Object.fromEntries(read(at === 0 ? Buffer.concat([zlibHead, deflated]) : deflated)), headers);
  }
});

test('bytes that are no header block are an error', () => {
  const cut = (plain: Buffer): string => Buffer.concat([zlibHead, deflateRawSync(plain)]).toString('hex');
  const whole = blockOf({ port: '8080' });
  const blocks = ['', '00', 'ffffffffffff', '78f9e3c6a7c2ffff', cut(whole.subarray(0, 2)), cut(whole.subarray(0, -1))];
  for (const block of [...blocks, cut(Buffer.from('ffffffff', 'hex')), cut(Buffer.alloc(65_537))])
    assert.throws(
      () => createHeaderReader(inflateRaw)(Buffer.from(block, 'hex')),
      (error) => error instanceof Error && !isProgramError(error),
      block,
    );
});

test('a block that inflates to a hundred times its limit is left before it does', () => {
  const inflated: number[] = [];
  const read = createHeaderReader((block, before, maxBytes) => {
    inflated.push(maxBytes);
    return inflateRaw(block, before, maxBytes);
  });
  const bomb = deflateRawSync(Buffer.alloc(6_553_600), { finishFlush: constants.Z_SYNC_FLUSH });
  assert.throws(() => read(Buffer.concat([zlibHead, bomb])), /not inflated/);
  assert.deepEqual(inflated, [8192]);
});

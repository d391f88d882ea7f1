import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  readSpdyFrames,
  SPDY_FIN,
  SPDY_TYPES,
  spdyControlFrame,
  spdyDataFrame,
  type SpdyFrame,
} from './spdy-frames.ts';

const bytes = Buffer.concat([
  spdyControlFrame(SPDY_TYPES.ping, Buffer.from([0, 0, 0, 7])),
  spdyDataFrame(1, Buffer.from('text'), 0),
  spdyDataFrame(0x7fff_ffff, Buffer.alloc(0), SPDY_FIN),
]);

async function* inPieces(of: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < of.length; at += size) yield of.subarray(at, at + size);
}

async function framesOf(incoming: AsyncIterable<Uint8Array>, maxBytes: number): Promise<SpdyFrame[]> {
  const frames: SpdyFrame[] = [];
  for await (const frame of readSpdyFrames(incoming, maxBytes)) frames.push(frame);
  return frames;
}

describe('SPDY frames', () => {
  it('are read as they were written, however their bytes come', async () => {
    for (let size = 1; size <= bytes.length; size++)
      assert.deepEqual(await framesOf(inPieces(bytes, size), 4), [
        { type: SPDY_TYPES.ping, flags: 0, payload: Buffer.from([0, 0, 0, 7]) },
        { stream: 1, flags: 0, payload: Buffer.from('text') },
        { stream: 0x7fff_ffff, flags: SPDY_FIN, payload: Buffer.alloc(0) },
      ]);
  });

  it('that break off are dropped, and those over the limit are refused by their heads', async () => {
    assert.equal((await framesOf(inPieces(bytes.subarray(0, -1), 5), 4)).length, 2);
    const head = Buffer.from([0, 0, 0, 1, 0, 0, 0, 5]);
    await assert.rejects(framesOf(inPieces(head, 8), 4), /a SPDY frame of 5 bytes/);
  });
});

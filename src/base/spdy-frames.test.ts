import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inPieces, PaceCount } from './frames-fixture.ts';
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
  spdyDataFrame(1, Buffer.from('text'), SPDY_FIN),
  spdyDataFrame(0x7fff_ffff, Buffer.alloc(0), SPDY_FIN),
]);

/** The frames, data in wholes. */
async function framesOf(incoming: AsyncIterable<Uint8Array>, pace = new PaceCount()): Promise<SpdyFrame[]> {
  const frames: SpdyFrame[] = [];
  let before: Buffer[] = [];
  for await (const frame of readSpdyFrames(incoming, pace)) {
    const payload = Buffer.concat([...before, frame.payload]);
    before = payload.length < sizeOf(frame) ? [payload] : [];
    if (before.length === 0) frames.push({ ...frame, payload });
  }
  return frames;
}

const sizeOf = ({ stream }: SpdyFrame): number => (stream === 1 ? 4 : 0);

describe('SPDY frames', () => {
  it('are read as they were written, whatever the chunks', async () => {
    for (let size = 1; size <= bytes.length; size++)
      assert.deepEqual(await framesOf(inPieces(bytes, size)), [
        { type: SPDY_TYPES.ping, flags: 0, payload: Buffer.from([0, 0, 0, 7]) },
        { stream: 1, flags: SPDY_FIN, payload: Buffer.from('text') },
        { stream: 0x7fff_ffff, flags: SPDY_FIN, payload: Buffer.alloc(0) },
      ]);
  });

  it('that break off are dropped, and control frames that are too long are refused by their heads', async () => {
    assert.equal((await framesOf(inPieces(bytes.subarray(0, -1), 5))).length, 2);
    const head = Buffer.from([0x80, 3, 0, 2, 0, 1, 0, 1]);
    await assert.rejects(framesOf(inPieces(head, 8)), /a SPDY control frame of 65537 bytes/);
  });

  it('with data of any length are delivered in pieces, the end with the last piece', async () => {
    const pieces: [number, number][] = [];
    let sent = 0;
    async function* large(): AsyncGenerator<Uint8Array> {
      yield Buffer.from([0, 0, 0, 1, SPDY_FIN, 0x0f, 0x42, 0x40]);
      for (; sent < 1_000_000; sent += 1000) {
        assert.equal(pieces.length, sent / 1000, 'all that was sent has been handed out');
        yield Buffer.alloc(1000);
      }
    }
    for await (const { payload, flags } of readSpdyFrames(large(), new PaceCount()))
      pieces.push([payload.length, flags]);
    assert.equal(pieces.length, 1000);
    assert.ok(pieces.every(([length, flags], at) => length === 1000 && flags === (at === 999 ? SPDY_FIN : 0)));
  });

  it('without data leave others their turns', async () => {
    const pace = new PaceCount();
    const frames = 10_000;
    const empty = Buffer.concat(Array<Buffer>(frames).fill(spdyDataFrame(3, Buffer.alloc(0), 0)));
    assert.equal((await framesOf(inPieces(empty, empty.length), pace)).length, frames);
    assert.ok(pace.yields >= frames / 1024, `others had ${pace.yields} turns`);
  });
});

/** Frames of SPDY clients on their way to the runtime: valid frames arrive, those that crash runtimes do not. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { constants, deflateRawSync } from 'node:zlib';
import { readSpdyFrames, SPDY_TYPES, SPDY_ZLIB_HEAD, spdyControlFrame, spdyDataFrame } from '../../base/spdy-frames.ts';
import type { FramePace } from '../../base/frame-input.ts';
import { createHeaderReader } from '../../cri/spdy-headers.ts';
import { inflateRaw } from '../../platform/node/compression.ts';
import type { Duplex } from '../../platform/streams.ts';
import { withCheckedFrames } from './checked-frames.ts';

const pace = { turn: () => undefined, yield: async () => undefined };
const SETTINGS = 4;

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
};
const block = (headers: Readonly<Record<string, string>>): Buffer => {
  const texts = Object.entries(headers).flat();
  return Buffer.concat([
    uint32(texts.length / 2),
    ...texts.flatMap((text) => [uint32(text.length), Buffer.from(text)]),
  ]);
};
const deflated = (bytes: Buffer, options: object = {}): Buffer =>
  deflateRawSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH, ...options });
const synStream = (id: number, headers: Buffer, isFirst = id === 1): Buffer =>
  spdyControlFrame(
    SPDY_TYPES.synStream,
    Buffer.concat([uint32(id), Buffer.alloc(6), isFirst ? SPDY_ZLIB_HEAD : Buffer.alloc(0), headers]),
  );

/** The bytes that reach the runtime, when the client's bytes arrive a few at a time. */
async function passed(bytes: Buffer, turns: FramePace = pace): Promise<Buffer> {
  async function* incoming(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += 37) yield bytes.subarray(at, at + 37);
  }
  const client: Duplex = {
    incoming: incoming(),
    write: async () => undefined,
    end: async () => undefined,
    destroy: () => undefined,
    closed: Promise.resolve(),
  };
  const out: Uint8Array[] = [];
  for await (const chunk of withCheckedFrames(client, inflateRaw, turns).incoming) out.push(chunk);
  return Buffer.concat(out);
}

test('streams with their headers, data, ends and pings arrive', async () => {
  const headers: readonly Record<string, string>[] = [{ streamtype: 'error' }, { streamtype: 'stdin', port: '80' }];
  const [first, second] = headers.map(block) as [Buffer, Buffer];
  const out = await passed(
    Buffer.concat([
      synStream(1, deflated(first)),
      synStream(3, deflated(second, { dictionary: first })),
      spdyDataFrame(3, Buffer.alloc(500, 65), 0),
      spdyControlFrame(SPDY_TYPES.ping, uint32(7)),
      spdyControlFrame(SPDY_TYPES.rstStream, Buffer.concat([uint32(1), uint32(5)])),
      spdyDataFrame(3, Buffer.alloc(0), 1),
    ]),
  );
  const read = createHeaderReader(inflateRaw);
  const seen: unknown[] = [];
  let data = 0;
  async function* whole(): AsyncGenerator<Uint8Array> {
    yield out;
  }
  for await (const frame of readSpdyFrames(whole(), pace)) {
    if (frame.stream !== undefined) {
      data += frame.payload.length;
      if (frame.flags === 1) seen.push(`end of ${frame.stream}`);
    } else if (frame.type === SPDY_TYPES.synStream)
      seen.push([frame.payload.readUInt32BE(0), Object.fromEntries(read(frame.payload.subarray(10)))]);
    else seen.push(`${frame.type} ${frame.payload.length}`);
  }
  assert.deepEqual(seen, [[1, headers[0]], [3, headers[1]], '6 4', '3 8', 'end of 3']);
  assert.equal(data, 500);
});

describe('refused, and nothing of it is passed on', () => {
  const evil = uint32(0xffff_ffff);
  const cases: Readonly<Record<string, Buffer>> = {
    'settings that claim to be four billion': spdyControlFrame(SETTINGS, evil),
    'four billion headers': synStream(1, deflated(evil)),
    'a header of four billion bytes': synStream(1, deflated(Buffer.concat([uint32(1), evil]))),
    'something after the headers': synStream(1, deflated(Buffer.concat([block({ a: 'b' }), evil]))),
    'headers that inflate to a megabyte': synStream(1, deflated(Buffer.alloc(1_000_000))),
    'headers that are none': synStream(1, Buffer.alloc(100, 0xff)),
    'a stream without an id': spdyControlFrame(SPDY_TYPES.synStream, Buffer.alloc(4)),
    'a ping of any length': spdyControlFrame(SPDY_TYPES.ping, Buffer.alloc(4000)),
    'a frame of an unknown type': spdyControlFrame(77, Buffer.alloc(4)),
  };
  for (const [what, bytes] of Object.entries(cases)) test(what, () => assert.rejects(passed(bytes), Error));
});

test('headers cannot mean something else to the runtime', async () => {
  // A stored block that declares more bytes than its frame has: a decoder of the whole stream would read the next frame's bytes
  // as its rest.
  const honest = block({ a: 'b' });
  const open = Buffer.alloc(5);
  open.writeUInt16LE(honest.length + 4, 1);
  open.writeUInt16LE(~(honest.length + 4) & 0xffff, 3);
  const frames = [synStream(1, Buffer.concat([open, honest])), synStream(3, uint32(0xffff_ffff))];
  await assert.rejects(passed(Buffer.concat(frames)), Error);
  const alone = await passed(frames[0]!);
  const read = createHeaderReader(inflateRaw);
  assert.deepEqual(Object.fromEntries(read(alone.subarray(18))), { a: 'b' });
  assert.equal(alone.subarray(-5).toString('hex'), '000000ffff');
});

test('others have their turn while headers inflate to much more than was sent', async () => {
  const large = deflated(block({ a: 'x'.repeat(7000) }));
  assert.ok(large.length < 70, `${large.length}`);
  const frames = Array.from({ length: 60 }, (_, at) => synStream(2 * at + 1, large));
  let turns = 0;
  const out = await passed(Buffer.concat(frames), { turn: () => undefined, yield: async () => void turns++ });
  assert.ok(out.length > 60 * 7000);
  assert.ok(turns >= 6, `${turns}`);
});

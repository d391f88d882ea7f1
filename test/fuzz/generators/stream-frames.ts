// Frames after an upgrade: WebSocket channels and SPDY/3.1 streams, in and out of order.
import { deflateSync } from 'node:zlib';
import { chance, pick, type Random, weighted } from '../draw.ts';
import { textOf } from '../exchange.ts';
import { mutateBytes } from '../values/mutate-bytes.ts';

function webSocketFrame(random: Random): string {
  const opcode = weighted(random, [
    [6, 2],
    [2, 1],
    [1, 0],
    [1, 8],
    [1, 9],
    [1, 10],
    [1, random.int(16)],
  ]);
  const channel = String.fromCharCode(pick(random, [0, 0, 1, 2, 3, 4, 5, 255]));
  const content = pick(random, [
    '',
    'a',
    '{"Width":80,"Height":24}',
    '{"Width":-1,"Height":1e99}',
    '{',
    '\x00\x50',
    '\0',
    'AAAA',
    '!',
    '\x03\xe8bye',
    '\x00',
    '\xff'.repeat(126),
    'a'.repeat(70_000),
  ]);
  const payload = Buffer.from(chance(random, 0.8) ? channel + content : content, 'latin1');
  const isMasked = chance(random, 0.92);
  const isFinal = chance(random, 0.88);
  const claimed = chance(random, 0.95) ? payload.length : pick(random, [0, 126, 65_536, 2 ** 31, 2 ** 40]);
  const first = (isFinal ? 0x80 : 0) | (chance(random, 0.03) ? 0x70 : 0) | opcode;
  const mask = isMasked ? 0x80 : 0;
  const head =
    claimed < 126
      ? Buffer.from([first, mask | claimed])
      : claimed < 65_536
        ? Buffer.from([first, mask | 126, claimed >> 8, claimed & 255])
        : Buffer.concat([Buffer.from([first, mask | 127]), long(claimed)]);
  const key = isMasked ? Buffer.from(random.bytes(4)) : Buffer.alloc(0);
  const masked = isMasked ? payload.map((byte, at) => byte ^ key[at % 4]!) : payload;
  return textOf(Buffer.concat([head, key, masked]));
}

function long(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

export function webSocketFrames(random: Random): string[] {
  const frames = Array.from({ length: random.int(6) }, () => webSocketFrame(random));
  return chance(random, 0.15) ? [mutateBytes(random, frames.join(''), 2)] : frames;
}

function uint32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, 4 * at);
  return bytes;
}

/** Without SPDY's dictionary a reader must fail or ignore it; with `raw` bytes there is no zlib data at all. */
function spdyHeaders(random: Random): Buffer {
  const pairs = [
    ['streamtype', pick(random, ['error', 'data', 'stdin', 'stdout', 'resize', '__proto__', '\0'])],
    ['port', pick(random, ['80', '0', '-1', '65536', 'x'])],
    ['requestid', pick(random, ['0', '1', ''])],
  ];
  const block = Buffer.concat([
    uint32(chance(random, 0.9) ? pairs.length : pick(random, [0, 1000, 0xffffffff])),
    ...pairs
      .flat()
      .flatMap((text) => [uint32(chance(random, 0.95) ? text!.length : 0x7fffffff), Buffer.from(text!, 'latin1')]),
  ]);
  return chance(random, 0.85) ? deflateSync(block) : Buffer.from(random.bytes(20));
}

function spdyFrame(random: Random): string {
  const flags = pick(random, [0, 0, 1, 2, 255]);
  const stream = pick(random, [1, 3, 5, 0, 2, 0x7fffffff, 0xffffffff]);
  const control = (type: number, payload: Buffer): Buffer => {
    const length = chance(random, 0.95) ? payload.length : pick(random, [0, 0xffffff]);
    return Buffer.concat([uint32(0x80030000 | type, (flags << 24) | length), payload]);
  };
  const headers = (): Buffer => spdyHeaders(random);
  const frame = weighted<() => Buffer>(random, [
    [5, () => control(1, Buffer.concat([uint32(stream, 0), Buffer.alloc(2), headers()]))],
    [1, () => control(2, Buffer.concat([uint32(stream), headers()]))],
    [1, () => control(3, uint32(stream, random.int(12)))],
    [1, () => control(4, uint32(pick(random, [0, 1, 0xffff]), 0x01000004, 0))],
    [1, () => control(6, uint32(stream))],
    [1, () => control(7, uint32(stream, 0))],
    [1, () => control(8, Buffer.concat([uint32(stream), headers()]))],
    [1, () => control(9, uint32(stream, pick(random, [0, 1, 0x7fffffff, 0xffffffff])))],
    [1, () => control(random.int(0xffff), Buffer.from(random.bytes(8)))],
    [4, () => Buffer.concat([uint32(stream & 0x7fffffff, (flags << 24) | 5), Buffer.from('GET /')])],
  ])();
  return textOf(frame);
}

export function spdyFrames(random: Random): string[] {
  const frames = Array.from({ length: random.int(7) }, () => spdyFrame(random));
  return chance(random, 0.15) ? [mutateBytes(random, frames.join(''), 2)] : frames;
}

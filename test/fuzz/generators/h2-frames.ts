// HTTP/2 frames that no library writes: floods, frames out of order, headers that decompress badly.
import { chance, pick, type Random, weighted } from '../draw.ts';
import { type RawExchange, textOf } from '../exchange.ts';
import { mutateBytes } from '../values/mutate-bytes.ts';

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const types = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goAway: 7,
  window: 8,
  continuation: 9,
};

function frame(type: number, flags: number, stream: number, payload: Buffer, claimed = payload.length): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(claimed, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream >>> 0, 5);
  return Buffer.concat([head, payload]);
}

/** A literal header without indexing; `name` and `value` have fewer than 127 bytes. */
function literal(name: string, value: string): Buffer {
  const text = (one: string): Buffer =>
    Buffer.concat([Buffer.from([Math.min(one.length, 126)]), Buffer.from(one.slice(0, 126), 'latin1')]);
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]);
}

const good = (path: string, method = 'GET'): Buffer =>
  Buffer.concat([
    literal(':method', method),
    literal(':scheme', 'https'),
    literal(':authority', 'a'),
    literal(':path', path),
  ]);

function headerBlock(random: Random, [get, post]: readonly [string, string]): Buffer {
  const path = pick(random, [get, post, '/api/v1/pods?watch=1&timeoutSeconds=1', '\0', '', 'a', '*']);
  const block = good(path, pick(random, ['GET', 'POST', 'CONNECT', 'x y', '']));
  const extra = pick(random, [
    Buffer.alloc(0),
    literal(':path', '/a'),
    literal(':status', '200'),
    literal('Upper', 'a'),
    literal('a\r\nb', 'c\r\nd: e'),
    literal('connection', 'upgrade'),
    literal('transfer-encoding', 'chunked'),
    literal('content-length', pick(random, ['5', '-1', '99999999999', 'x'])),
    literal('host', 'b'),
    literal('te', 'trailers, x'),
    literal('cookie', 'a=b'),
    literal(':protocol', 'websocket'),
    Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]), // an index beyond every table
    Buffer.from([0x80]), // index 0
    Buffer.from([0x3f, 0xe1, 0xff, 0xff, 0xff, 0x07]), // a table size beyond the negotiated one
    Buffer.from([0x00, 0x85, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x61]), // too many bits of Huffman padding
    Buffer.concat(Array.from({ length: 400 }, (_, at) => literal(`x-${at}`, 'a'.repeat(100)))),
  ]);
  return chance(random, 0.5) ? Buffer.concat([block, extra]) : Buffer.concat([extra, block]);
}

function frames(random: Random, [get, post]: readonly [string, string]): Buffer[] {
  const stream = pick(random, [1, 3, 5, 7, 0, 2, 0x7fffffff, 0xffffffff]);
  const flood = (one: Buffer, times: number): Buffer[] => Array.from({ length: times }, () => one);
  const times = pick(random, [3, 60, 1500]);
  return weighted<() => Buffer[]>(random, [
    [6, () => [frame(types.headers, pick(random, [4, 5, 0, 0x2d, 255]), stream, headerBlock(random, [get, post]))]],
    [
      2,
      () => [
        frame(types.headers, 4, stream, good(post, 'POST')),
        frame(types.data, pick(random, [0, 1, 9]), stream, Buffer.from('{"a":1}')),
      ],
    ],
    [
      2,
      () => [
        frame(types.headers, 0, 1, good(get)),
        ...flood(frame(types.continuation, 0, 1, literal('x-a', 'b')), times),
      ],
    ],
    [
      2,
      () =>
        flood(frame(types.headers, 5, 1, good(get)), 1).concat(
          flood(frame(types.reset, 0, 1, Buffer.from([0, 0, 0, 8])), times),
        ),
    ],
    [
      2,
      () =>
        Array.from({ length: times }, (_, at) => [
          frame(types.headers, 5, 2 * at + 1, good(get)),
          frame(types.reset, 0, 2 * at + 1, Buffer.from([0, 0, 0, 8])),
        ]).flat(),
    ],
    [
      2,
      () =>
        flood(
          frame(types.settings, 0, 0, Buffer.from([0, pick(random, [1, 2, 3, 4, 5, 6, 8, 99]), ...random.bytes(4)])),
          times,
        ),
    ],
    [1, () => [frame(types.settings, pick(random, [0, 1]), stream, Buffer.from(random.bytes(random.int(13))))]],
    [2, () => flood(frame(types.ping, pick(random, [0, 1]), 0, Buffer.alloc(pick(random, [8, 8, 7]))), times)],
    [1, () => flood(frame(types.priority, 0, stream, Buffer.from([0, 0, 0, 1, 255])), times)],
    [
      2,
      () => [
        frame(
          types.window,
          0,
          pick(random, [0, 1]),
          Buffer.from(pick(random, [[0, 0, 0, 0], [127, 255, 255, 255], [255, 255, 255, 255], [0]])),
        ),
      ],
    ],
    [1, () => [frame(types.goAway, 0, 0, Buffer.alloc(pick(random, [8, 3, 5000])))]],
    [1, () => [frame(types.push, 4, 1, Buffer.concat([Buffer.from([0, 0, 0, 2]), good(get)]))]],
    [
      1,
      () =>
        flood(frame(types.data, 0, stream, Buffer.alloc(pick(random, [0, 1, 16_384, 20_000]))), Math.min(times, 40)),
    ],
    [1, () => [frame(random.int(256), random.int(256), stream, Buffer.from(random.bytes(random.int(40))))]],
    [1, () => [frame(types.headers, 4, 1, good(get), 0xffffff)]],
  ])();
}

/** Paths that can be read and written. */
const apiPaths = ['/version', '/api/v1/namespaces/fuzz/configmaps'] as const;

export function h2Exchange(random: Random, paths: readonly [string, string] = apiPaths): RawExchange {
  const settings = frame(types.settings, 0, 0, Buffer.alloc(0));
  const own = Array.from({ length: 1 + random.int(4) }, () => textOf(Buffer.concat(frames(random, paths))));
  const start = `${chance(random, 0.97) ? PREFACE : 'PRI * HTTP/3.0\r\n\r\n'}${chance(random, 0.95) ? textOf(settings) : ''}`;
  const parts = [start + own[0]!, ...own.slice(1)];
  const last = parts.length - 1;
  if (chance(random, 0.2)) parts[last] = mutateBytes(random, parts[last]!, 1 + random.int(3));
  return { kind: 'raw', protocol: 'h2', parts };
}

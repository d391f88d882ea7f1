// Changes of protobuf messages that keep their framing: wrong wire types, wrong lengths, over-long varints, nesting.
import { chance, pick, type Random, weighted } from '../draw.ts';

interface WireField {
  number: number;
  type: number;
  /** The bytes after the tag; for length-delimited fields without the length. */
  payload: Buffer;
}

/** A varint with this many unnecessary bytes. */
export function varint(value: number, extra = 0): Buffer {
  const bytes: number[] = [];
  let left = value;
  do {
    bytes.push((left % 128) | 0x80);
    left = Math.floor(left / 128);
  } while (left > 0);
  for (let count = 0; count < extra; count++) bytes.push(0x80);
  bytes[bytes.length - 1]! &= 0x7f;
  return Buffer.from(bytes);
}

function readVarint(bytes: Buffer, from: number): [value: number, next: number] {
  let value = 0;
  for (let at = from, scale = 1; at < bytes.length && at < from + 10; at++, scale *= 128) {
    value += (bytes[at]! & 0x7f) * scale;
    if (bytes[at]! < 0x80) return [value, at + 1];
  }
  return [NaN, bytes.length];
}

/** The fields of a message; undefined when the bytes are none. */
function fieldsOf(bytes: Buffer): WireField[] | undefined {
  const fields: WireField[] = [];
  for (let at = 0; at < bytes.length;) {
    const [tag, start] = readVarint(bytes, at);
    const type = tag % 8;
    const [length, from] = type === 2 ? readVarint(bytes, start) : [0, start];
    const next = type === 0 ? readVarint(bytes, start)[1] : from + (type === 1 ? 8 : type === 5 ? 4 : length);
    if (!(next <= bytes.length) || ![0, 1, 2, 5].includes(type) || tag < 8) return undefined;
    fields.push({ number: Math.floor(tag / 8), type, payload: bytes.subarray(from, next) });
    at = next;
  }
  return fields;
}

const write = (fields: readonly WireField[]): Buffer =>
  Buffer.concat(
    fields.flatMap(({ number, type, payload }) => [
      varint(number * 8 + type),
      ...(type === 2 ? [varint(payload.length)] : []),
      payload,
    ]),
  );

const bomb = (number: number, depth: number): Buffer => {
  let bytes = Buffer.alloc(0);
  for (let level = 0; level < depth; level++)
    bytes = Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
  return bytes;
};

type Change = (random: Random, fields: WireField[], at: number) => Buffer | undefined;

const changes: readonly (readonly [weight: number, change: Change])[] = [
  [4, (random, fields, at) => void (fields[at]!.type = random.int(8))],
  [2, (random, fields, at) => void (fields[at]!.number = pick(random, [0, 1, 15, 16, 19_000, 2 ** 29 - 1, 2 ** 29]))],
  [3, (random, fields, at) => void fields.splice(at, 1, fields[at]!, fields[at]!)],
  [2, (_random, fields, at) => void fields.splice(at, 1)],
  [3, (random, fields, at) => void (fields[at]!.payload = Buffer.from(random.bytes(random.int(12))))],
  [2, (random, fields, at) => void (fields[at]!.payload = fields[at]!.payload.subarray(0, random.int(4)))],
  [1, (random, fields, at) => void (fields[at]!.payload = bomb(fields[at]!.number, pick(random, [20, 120, 2000])))],
  [
    1,
    (_random, fields, at) =>
      Buffer.concat([write(fields.slice(0, at)), varint(fields[at]!.number * 8 + 2, 6), varint(2, 9)]),
  ],
  [
    1,
    (random, fields, at) =>
      Buffer.concat([write(fields.slice(0, at)), varint(10), varint(pick(random, [2 ** 31, 2 ** 52, 1e7]))]),
  ],
  [1, (_random, fields, at) => Buffer.concat([write(fields.slice(0, at)), Buffer.alloc(12, 0xff)])],
  [
    1,
    (random, fields, at) =>
      Buffer.concat(Array(pick(random, [50, 5000])).fill(write(fields.slice(at, at + 1))) as Buffer[]),
  ],
];

/** One change at some level of the message. */
export function mutateProtobuf(random: Random, message: Buffer): Buffer {
  const fields = fieldsOf(message);
  if (fields === undefined || fields.length === 0) return Buffer.from(random.bytes(random.int(20)));
  const nested = [...fields.keys()].filter((at) => fields[at]!.type === 2 && fields[at]!.payload.length > 1);
  if (nested.length > 0 && chance(random, 0.75)) {
    const at = pick(random, nested);
    if (fieldsOf(fields[at]!.payload) !== undefined) {
      fields[at]!.payload = mutateProtobuf(random, fields[at]!.payload);
      return write(fields);
    }
  }
  return weighted(random, changes)(random, fields, random.int(fields.length)) ?? write(fields);
}

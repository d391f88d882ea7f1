/**
 * D-Bus messages as bytes, as far as calls of systemd and their answers need: little-endian out, both ways in. A variant is
 * written from a pair of its type and its value, and read as its value alone. No file descriptors. Specification: dbus.freedesktop.org, "Message Protocol".
 * By hand rather than by dbus-next or dbus-native: neither is maintained, and both open sockets past the network port.
 */

/** Kinds of messages. */
export const MESSAGE_TYPES = { call: 1, answer: 2, error: 3, signal: 4 } as const;

/** A value of a body; `t` and `x` are bigints. */
export type DbusValue = string | number | bigint | boolean | readonly DbusValue[];

export interface DbusMessage {
  readonly type: number;
  readonly serial: number;
  readonly path?: string;
  readonly interface?: string;
  readonly member?: string;
  readonly errorName?: string;
  readonly replySerial?: number;
  readonly destination?: string;
  readonly sender?: string;
  readonly signature?: string;
  readonly body: readonly DbusValue[];
}

const LITTLE = 'l'.charCodeAt(0);
const BIG = 'B'.charCodeAt(0);
const PROTOCOL_VERSION = 1;
const FIXED_HEADER_BYTES = 16;
/** As the specification: larger ones are not valid. */
const MAX_MESSAGE_BYTES = 128 * 1024 * 1024;

const HEADER_FIELDS = [
  [1, 'path', 'o'],
  [2, 'interface', 's'],
  [3, 'member', 's'],
  [4, 'errorName', 's'],
  [5, 'replySerial', 'u'],
  [6, 'destination', 's'],
  [7, 'sender', 's'],
  [8, 'signature', 'g'],
] as const;

const ALIGNMENTS: Readonly<Record<string, number>> = {
  ...{ y: 1, g: 1, v: 1 },
  ...{ n: 2, q: 2 },
  ...{ b: 4, i: 4, u: 4, h: 4, s: 4, o: 4, a: 4 },
  ...{ x: 8, t: 8, d: 8, '(': 8, '{': 8 },
};

class Writer {
  readonly #parts: Buffer[] = [];
  length = 0;

  bytes(part: Buffer): void {
    this.#parts.push(part);
    this.length += part.length;
  }

  align(to: number): void {
    const rest = this.length % to;
    if (rest > 0) this.bytes(Buffer.alloc(to - rest));
  }

  uint32(value: number): void {
    this.align(4);
    const part = Buffer.alloc(4);
    part.writeUInt32LE(value);
    this.bytes(part);
  }

  value(type: string, value: DbusValue): void {
    const code = type[0] ?? '';
    if (code === 'a') return this.#array(type.slice(1), value as readonly DbusValue[]);
    if (code === '(') return this.#struct(type.slice(1, -1), value as readonly DbusValue[]);
    if (code === 'v') {
      const [inner, own] = value as readonly [string, DbusValue];
      this.value('g', inner);
      return this.value(inner, own);
    }
    if (type === 't') return this.#uint64(BigInt(value as bigint | number));
    if (type === 'u') return this.uint32(Number(value));
    if (type === 'i') return this.uint32(Number(value) >>> 0);
    if (type === 'b') return this.uint32(value === true ? 1 : 0);
    const text = Buffer.from(String(value));
    if (type === 'g') this.bytes(Buffer.from([text.length]));
    else if (type === 's' || type === 'o') this.uint32(text.length);
    else throw new Error(`D-Bus type ${JSON.stringify(type)} is not written`);
    this.bytes(text);
    this.bytes(Buffer.alloc(1));
  }

  values(signature: string, values: readonly DbusValue[]): void {
    typesOf(signature).forEach((type, at) => this.value(type, values[at] ?? ''));
  }

  #uint64(value: bigint): void {
    this.align(8);
    const part = Buffer.alloc(8);
    part.writeBigUInt64LE(value);
    this.bytes(part);
  }

  /** Its length counts neither itself nor what is left out before the first item. */
  #array(type: string, items: readonly DbusValue[]): void {
    this.align(4);
    const length = Buffer.alloc(4);
    this.bytes(length);
    this.align(ALIGNMENTS[type[0] ?? ''] ?? 1);
    const from = this.length;
    for (const item of items) this.value(type, item);
    length.writeUInt32LE(this.length - from);
  }

  #struct(types: string, values: readonly DbusValue[]): void {
    this.align(8);
    this.values(types, values);
  }

  whole(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

/** The bytes of a message; its body's types (s, o, g, u, i, b, t, v, arrays and structs of these) are its signature's. */
export function encodeMessage(message: DbusMessage): Buffer {
  const body = new Writer();
  body.values(message.signature ?? '', message.body);
  const fields = new Writer();
  for (const [code, name, type] of HEADER_FIELDS) {
    const value = message[name];
    if (value === undefined || value === '') continue;
    fields.align(8);
    fields.bytes(Buffer.from([code]));
    fields.value('g', type);
    fields.value(type, value);
  }
  const head = new Writer();
  head.bytes(Buffer.from([LITTLE, message.type, 0, PROTOCOL_VERSION]));
  head.uint32(body.length);
  head.uint32(message.serial);
  head.uint32(fields.length);
  head.bytes(fields.whole());
  head.align(8);
  head.bytes(body.whole());
  return head.whole();
}

class Reader {
  readonly #data: Buffer;
  readonly #little: boolean;
  at: number;

  constructor(data: Buffer, little: boolean, at: number) {
    this.#data = data;
    this.#little = little;
    this.at = at;
  }

  align(to: number): void {
    this.at = Math.ceil(this.at / to) * to;
  }

  #take(bytes: number): number {
    const from = this.at;
    if (bytes < 0 || from + bytes > this.#data.length) throw new Error('a D-Bus message ends too early');
    this.at += bytes;
    return from;
  }

  uint32(): number {
    this.align(4);
    const from = this.#take(4);
    return this.#little ? this.#data.readUInt32LE(from) : this.#data.readUInt32BE(from);
  }

  #text(length: number): string {
    const from = this.#take(length + 1);
    return this.#data.toString('utf8', from, from + length);
  }

  #number(type: string): DbusValue {
    const [data, little] = [this.#data, this.#little];
    switch (type) {
      case 'y':
        return data.readUInt8(this.#take(1));
      case 'n':
        return little ? data.readInt16LE(this.#take(2)) : data.readInt16BE(this.#take(2));
      case 'q':
        return little ? data.readUInt16LE(this.#take(2)) : data.readUInt16BE(this.#take(2));
      case 'i':
        return this.uint32() | 0;
      case 'x':
        return little ? data.readBigInt64LE(this.#take(8)) : data.readBigInt64BE(this.#take(8));
      case 't':
        return little ? data.readBigUInt64LE(this.#take(8)) : data.readBigUInt64BE(this.#take(8));
      case 'd':
        return little ? data.readDoubleLE(this.#take(8)) : data.readDoubleBE(this.#take(8));
      default:
        return this.uint32();
    }
  }

  /** One value of one complete type. */
  value(type: string): DbusValue {
    const code = type[0] ?? '';
    const alignment = ALIGNMENTS[code];
    if (alignment === undefined) throw new Error(`unknown D-Bus type ${JSON.stringify(type)}`);
    this.align(alignment);
    if (code === 's' || code === 'o') return this.#text(this.uint32());
    if (code === 'g') return this.#text(Number(this.#number('y')));
    if (code === 'b') return this.uint32() !== 0;
    if (code === 'v') return this.value(String(this.value('g')));
    if (code === '(' || code === '{') return this.values(type.slice(1, -1));
    if (code !== 'a') return this.#number(code);
    const length = this.uint32();
    this.align(ALIGNMENTS[type[1] ?? ''] ?? 1);
    const end = this.at + length;
    const items: DbusValue[] = [];
    while (this.at < end) items.push(this.value(type.slice(1)));
    return items;
  }

  values(signature: string): DbusValue[] {
    return typesOf(signature).map((type) => this.value(type));
  }
}

/** The complete types of a signature. */
function typesOf(signature: string): string[] {
  const types: string[] = [];
  for (let at = 0; at < signature.length;) {
    const end = endOfType(signature, at);
    types.push(signature.slice(at, end));
    at = end;
  }
  return types;
}

function endOfType(signature: string, from: number): number {
  let at = from;
  while (signature[at] === 'a') at++;
  if (signature[at] !== '(' && signature[at] !== '{') return at + 1;
  for (let depth = 0; at < signature.length; at++) {
    if ('({'.includes(signature[at] ?? ' ')) depth++;
    if (')}'.includes(signature[at] ?? ' ') && --depth === 0) return at + 1;
  }
  throw new Error(`the D-Bus signature ${JSON.stringify(signature)} does not end`);
}

/** The first message in the bytes and how long it is; undefined while it is not whole. @throws Error for what is none */
export function decodeMessage(data: Buffer): { message: DbusMessage; bytes: number } | undefined {
  if (data.length < FIXED_HEADER_BYTES) return undefined;
  if (data[0] !== LITTLE && data[0] !== BIG) throw new Error('not a D-Bus message');
  const reader = new Reader(data, data[0] === LITTLE, 4);
  const [bodyBytes, serial, fieldBytes] = [reader.uint32(), reader.uint32(), reader.uint32()];
  const bodyAt = Math.ceil((FIXED_HEADER_BYTES + fieldBytes) / 8) * 8;
  const bytes = bodyAt + bodyBytes;
  if (bytes > MAX_MESSAGE_BYTES) throw new Error(`a D-Bus message of ${bytes} bytes is too long`);
  if (data.length < bytes) return undefined;
  const header: Record<string, DbusValue> = {};
  while (reader.at < FIXED_HEADER_BYTES + fieldBytes) {
    const [code, value] = reader.value('(yv)') as readonly [number, DbusValue];
    const known = HEADER_FIELDS.find(([each]) => each === code);
    if (known !== undefined) header[known[1]] = value;
  }
  reader.at = bodyAt;
  const body = reader.values(String(header['signature'] ?? ''));
  return { message: { ...header, type: data[1] ?? 0, serial, body }, bytes };
}

/** D-Bus values by their signatures: alignment, byte order, containers. */

/** A value of a body; `t` and `x` are bigints. */
export type DbusValue = string | number | bigint | boolean | readonly DbusValue[];

const ALIGNMENTS: Readonly<Record<string, number>> = {
  ...{ y: 1, g: 1, v: 1 },
  ...{ n: 2, q: 2 },
  ...{ b: 4, i: 4, u: 4, h: 4, s: 4, o: 4, a: 4 },
  ...{ x: 8, t: 8, d: 8, '(': 8, '{': 8 },
};

export class Writer {
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

  /** The length in front counts neither itself nor the padding before the first item. */
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

export class Reader {
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

  /** Reads one value of one complete type. */
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

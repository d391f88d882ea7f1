// Reads protobuf from a byte range. Every malformed input ends in a PbError, never in a read beyond the range. It is written by
// hand rather than with protobuf-es for the reason in `pb-writer.ts`.

import { BYTES_TYPE, FIXED64_TYPE, VARINT_TYPE } from './pb-writer.ts';

/** Bytes that are not a protobuf message of the expected type. */
export class PbError extends Error {
  override readonly name = 'PbError';
}

/** A cursor over `[at, end)` of a buffer. */
export class PbReader {
  readonly buffer: Buffer;
  at: number;
  end: number;

  constructor(bytes: Uint8Array) {
    this.buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
    this.end = bytes.length;
  }

  private byte(): number {
    if (this.at >= this.end) throw new PbError('unexpected EOF');
    return this.buffer[this.at++] as number;
  }

  /** An unsigned varint below 2^32, for tags and lengths. */
  uint32(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const b = this.byte();
      value += (b & 0x7f) * 2 ** shift;
      if (b < 0x80) return value;
    }
    throw new PbError('proto: integer overflow');
  }

  /** A signed 64-bit varint: a number where that is exact, else a bigint. */
  int64(): number | bigint {
    let value = 0;
    for (let shift = 0; shift < 49; shift += 7) {
      const b = this.byte();
      value += (b & 0x7f) * 2 ** shift;
      if (b < 0x80) return value;
    }
    let big = BigInt(value);
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const b = this.byte();
      big |= BigInt(b & 0x7f) << shift;
      if (b < 0x80) {
        const signed = BigInt.asIntN(64, big);
        const number = Number(signed);
        return Number.isSafeInteger(number) ? number : signed;
      }
    }
    throw new PbError('proto: integer overflow');
  }

  double(): number {
    if (this.at + 8 > this.end) throw new PbError('unexpected EOF');
    this.at += 8;
    return this.buffer.readDoubleLE(this.at - 8);
  }

  string(): string {
    const length = this.uint32();
    const start = this.at;
    if (start + length > this.end) throw new PbError('unexpected EOF');
    this.at = start + length;
    if (length <= 24) {
      let text = '';
      for (let i = start; i < this.at; i++) {
        const c = this.buffer[i] as number;
        if (c > 0x7f) return this.buffer.toString('utf8', start, this.at);
        text += String.fromCharCode(c);
      }
      return text;
    }
    return this.buffer.toString('utf8', start, this.at);
  }

  /** A view of length-delimited bytes. */
  bytes(): Buffer {
    const length = this.uint32();
    const start = this.at;
    if (start + length > this.end) throw new PbError('unexpected EOF');
    this.at = start + length;
    return this.buffer.subarray(start, this.at);
  }

  /** Reads a length-delimited message; `read` cannot read beyond the message's bytes. */
  message<T>(read: () => T): T {
    const length = this.uint32();
    const outer = this.end;
    if (this.at + length > outer) throw new PbError('unexpected EOF');
    this.end = this.at + length;
    const result = read();
    this.at = this.end;
    this.end = outer;
    return result;
  }

  #skipVarint(): void {
    for (let length = 1; length <= 10; length++) if (this.byte() < 0x80) return;
    throw new PbError('proto: integer overflow');
  }

  /** Skips a field's value. */
  skip(wireType: number): void {
    if (wireType === VARINT_TYPE) this.#skipVarint();
    else if (wireType === FIXED64_TYPE) this.double();
    else if (wireType === BYTES_TYPE) this.bytes();
    else if (wireType === 5) {
      if (this.at + 4 > this.end) throw new PbError('unexpected EOF');
      this.at += 4;
    } else throw new PbError(`proto: illegal wireType ${wireType}`);
  }
}

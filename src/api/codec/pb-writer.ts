// Writes protobuf backwards, from the end of a growing buffer to its front. The length of a message is known once its content is
// written, so no size pass is needed; upstream's generated code does the same. Callers write fields in descending order of
// number, and the content of a field before its length and tag. It is written by hand rather than with protobuf-es, which `grpc/`
// uses, because the bytes of plain JSON objects must equal those of upstream's generated code.

/** Wire types. */
export const VARINT_TYPE = 0;
export const FIXED64_TYPE = 1;
export const BYTES_TYPE = 2;

const MAX_UINT64 = (1n << 64n) - 1n;

/** A buffer filled from its end. */
export class PbWriter {
  private buffer: Buffer;
  private at: number;

  constructor(capacity = 1024) {
    this.buffer = Buffer.allocUnsafe(capacity);
    this.at = capacity;
  }

  /** The number of bytes written so far. The difference of two readings is the number of bytes written between them. */
  get length(): number {
    return this.buffer.length - this.at;
  }

  /** A copy of the written bytes. */
  finish(): Uint8Array {
    return Uint8Array.prototype.slice.call(this.buffer, this.at);
  }

  private reserve(count: number): number {
    if (this.at < count) {
      const used = this.length;
      const grown = Buffer.allocUnsafe(Math.max(this.buffer.length * 2, used + count));
      this.buffer.copy(grown, grown.length - used, this.at);
      this.at = grown.length - used;
      this.buffer = grown;
    }
    this.at -= count;
    return this.at;
  }

  /** An integer as a two's complement varint. */
  varint(value: number | bigint): void {
    if (typeof value === 'bigint' || value < 0 || value > 0x7fffffff) {
      this.bigVarint(BigInt(value) & MAX_UINT64);
      return;
    }
    let size = 1;
    for (let v = value >>> 7; v > 0; v >>>= 7) size++;
    let at = this.reserve(size);
    let rest = value;
    while (rest > 0x7f) {
      this.buffer[at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.buffer[at] = rest;
  }

  private bigVarint(value: bigint): void {
    const bytes: number[] = [];
    let rest = value;
    while (rest > 0x7fn) {
      bytes.push(Number(rest & 0x7fn) | 0x80);
      rest >>= 7n;
    }
    bytes.push(Number(rest));
    this.raw(Uint8Array.from(bytes));
  }

  /** A field's number and wire type. */
  tag(number: number, wireType: number): void {
    this.varint((number << 3) | wireType);
  }

  /** Bytes without a length prefix. */
  raw(bytes: Uint8Array): void {
    const at = this.reserve(bytes.length);
    this.buffer.set(bytes, at);
  }

  /** A length-delimited field of bytes. */
  bytes(number: number, bytes: Uint8Array): void {
    this.raw(bytes);
    this.varint(bytes.length);
    this.tag(number, BYTES_TYPE);
  }

  /** A string field. */
  string(number: number, text: string): void {
    if (text.length > 40 || !this.ascii(text)) {
      const length = Buffer.byteLength(text);
      const at = this.reserve(length);
      this.buffer.write(text, at, length, 'utf8');
      this.varint(length);
    } else {
      this.varint(text.length);
    }
    this.tag(number, BYTES_TYPE);
  }

  /**
   * Writes a short ASCII text in JavaScript, which is faster than a native call. Returns false, without writing, for other texts.
   */
  private ascii(text: string): boolean {
    const { length } = text;
    const at = this.reserve(length);
    const { buffer } = this;
    for (let i = 0; i < length; i++) {
      const c = text.charCodeAt(i);
      if (c > 0x7f) {
        this.at += length;
        return false;
      }
      buffer[at + i] = c;
    }
    return true;
  }

  /** A double field. */
  double(number: number, value: number): void {
    const at = this.reserve(8);
    this.buffer.writeDoubleLE(value, at);
    this.tag(number, FIXED64_TYPE);
  }

  /** Completes a message field whose content was written since `before`, a reading of `length`. */
  message(number: number, before: number): void {
    this.varint(this.length - before);
    this.tag(number, BYTES_TYPE);
  }
}

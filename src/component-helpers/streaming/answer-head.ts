/** Reads the head of an HTTP/1.1 response from a raw connection, and what follows as its body or as raw bytes. */

/** The head, and the rest as either `rest` or `body`; use one of them once. */
export interface ReadHead {
  readonly status: number;
  /** Names in lower case; values of repeated headers are joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
  /** The unchanged head including the blank line. */
  readonly raw: Uint8Array;
  /** Everything after the head. */
  readonly rest: AsyncIterable<Uint8Array>;
  /** The body by its length or chunks, or to the end of the connection. */
  body(): AsyncIterable<Uint8Array>;
}

const MAX_HEAD_BYTES = 64 * 1024;
const MAX_CHUNK_LINE_BYTES = 1024;

/** Resolves at the blank line. Rejects when the peer ends before it or does not send HTTP. */
export async function readHead(incoming: AsyncIterable<Uint8Array>): Promise<ReadHead> {
  const source = new ByteSource(incoming);
  const raw = await source.through('\r\n\r\n', MAX_HEAD_BYTES);
  if (raw === undefined) throw new Error('the connection closed before the answer head was complete');
  const [first = '', ...lines] = Buffer.from(raw).toString('latin1').split('\r\n');
  const match = /^HTTP\/1\.[01] (\d{3})/.exec(first);
  if (match === null) throw new Error(`not an HTTP answer: ${JSON.stringify(first.slice(0, 80))}`);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  return { status: Number(match[1]), headers, raw, rest: source.all(), body: () => bodyOf(source, headers) };
}

function bodyOf(source: ByteSource, headers: Readonly<Record<string, string>>): AsyncIterable<Uint8Array> {
  if (headers['transfer-encoding']?.toLowerCase().includes('chunked')) return chunks(source);
  const length = headers['content-length'];
  return length === undefined ? source.all() : source.take(Number(length));
}

async function* chunks(source: ByteSource): AsyncGenerator<Uint8Array> {
  for (;;) {
    const line = await source.through('\r\n', MAX_CHUNK_LINE_BYTES);
    const size = line === undefined ? Number.NaN : Number.parseInt(Buffer.from(line).toString('latin1'), 16);
    if (Number.isNaN(size)) throw new Error("the answer's chunks are broken");
    if (size === 0) return;
    yield* source.take(size);
    await source.through('\r\n', MAX_CHUNK_LINE_BYTES);
  }
}

/** Reads the chunks of a stream in the portions that a parser needs. */
class ByteSource {
  readonly #iterator: AsyncIterator<Uint8Array>;
  #buffer: Buffer = Buffer.alloc(0);

  constructor(incoming: AsyncIterable<Uint8Array>) {
    this.#iterator = incoming[Symbol.asyncIterator]();
  }

  /** Bytes up to and with `mark`; undefined when the stream ends first. */
  async through(mark: string, limit: number): Promise<Uint8Array | undefined> {
    for (;;) {
      const at = this.#buffer.indexOf(mark);
      if (at >= 0) return this.#cut(at + mark.length);
      if (this.#buffer.length > limit) throw new Error('the answer head is too large');
      const next = await this.#iterator.next();
      if (next.done === true) return undefined;
      this.#buffer = Buffer.concat([this.#buffer, next.value]);
    }
  }

  /** Exactly `count` bytes. */
  async *take(count: number): AsyncGenerator<Uint8Array> {
    for (let left = count; left > 0;) {
      if (this.#buffer.length === 0) {
        const next = await this.#iterator.next();
        if (next.done === true) throw new Error('the connection closed in the middle of the answer');
        this.#buffer = Buffer.from(next.value);
        continue;
      }
      const piece = this.#cut(Math.min(left, this.#buffer.length));
      left -= piece.byteLength;
      yield piece;
    }
  }

  /** All remaining bytes. */
  async *all(): AsyncGenerator<Uint8Array> {
    if (this.#buffer.length > 0) yield this.#cut(this.#buffer.length);
    for (;;) {
      const next = await this.#iterator.next();
      if (next.done === true) return;
      yield next.value;
    }
  }

  #cut(count: number): Uint8Array {
    const piece = this.#buffer.subarray(0, count);
    this.#buffer = this.#buffer.subarray(count);
    return piece;
  }
}

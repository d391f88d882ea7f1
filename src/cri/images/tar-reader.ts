/**
 * Reads tar archives as a stream: ustar, GNU's long names, pax paths and sizes. By hand rather than by tar-stream:
 * the chunks of images are passed on unchanged, and the claims of hostile archives are bounded here.
 */

/** One member. Its body must be read, or is skipped, before the next one comes. */
export interface TarMember {
  /** Without a leading `./`. */
  readonly name: string;
  readonly kind: 'file' | 'link' | 'other';
  readonly size: number;
  /** Where a link leads, as it stands in the archive. */
  readonly linkName: string;
  readonly hard: boolean;
  body(): AsyncGenerator<Uint8Array>;
}

const BLOCK_BYTES = 512;
/** The longest name or pax record. */
const MAX_HEADER_BYTES = 1024 * 1024;

/** A longer number, of blanks or zeros, would be read again for each record. */
const MAX_LENGTH_DIGITS = 20;

/** The archive is damaged, truncated or not a tar archive. */
export class TarError extends Error {
  override readonly name = 'TarError';
}

/**
 * Yields the members in order; then reads what follows the end, so that a process writing into a pipe can finish.
 * Always ends the source. Throws `TarError`.
 */
export async function* readTar(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<TarMember> {
  const source = new ByteSource(chunks);
  try {
    yield* membersOf(source);
    await source.drain();
  } finally {
    await source.close();
  }
}

async function* membersOf(source: ByteSource): AsyncGenerator<TarMember> {
  let extension: Extension = {};
  for (;;) {
    const header = await source.take(BLOCK_BYTES);
    if (header === undefined || header.every((byte) => byte === 0)) return;
    checkSum(header);
    const size = extension.size ?? numberAt(header, 124, 12);
    const type = String.fromCharCode(header[156] ?? 0);
    const padding = (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES;
    if (type === 'x' || type === 'L' || type === 'K' || type === 'g') {
      if (size > MAX_HEADER_BYTES) throw new TarError('it has a header of more than 1 MiB');
      const data = (await source.take(size)) ?? Buffer.alloc(0);
      await source.take(padding);
      if (type === 'x') extension = { ...extension, ...paxOf(data) };
      else if (type === 'L') extension = { ...extension, path: textOf(data) };
      else if (type === 'K') extension = { ...extension, linkPath: textOf(data) };
      continue;
    }
    const prefix = textOf(header.subarray(345, 500));
    const short = textOf(header.subarray(0, 100));
    const name =
      extension.path ?? (prefix === '' || textOf(header.subarray(257, 262)) !== 'ustar' ? short : `${prefix}/${short}`);
    let read = false;
    const body = async function* (): AsyncGenerator<Uint8Array> {
      read = true;
      yield* source.stream(size);
    };
    yield {
      name: name.replace(/^(\.\/)+/, ''),
      kind: type === '0' || type === '\0' || type === '7' ? 'file' : type === '1' || type === '2' ? 'link' : 'other',
      size,
      linkName: extension.linkPath ?? textOf(header.subarray(157, 257)),
      hard: type === '1',
      body,
    };
    if (!read) for await (const _chunk of source.stream(size));
    await source.take(padding);
    extension = {};
  }
}

interface Extension {
  readonly path?: string;
  readonly linkPath?: string;
  readonly size?: number;
}

class ByteSource {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** Undefined at the end of the archive; throws when it ends within a member. */
  async take(bytes: number): Promise<Uint8Array | undefined> {
    if (bytes === 0) return Buffer.alloc(0);
    const parts: Uint8Array[] = [];
    let taken = 0;
    for await (const part of this.#upTo(bytes)) {
      parts.push(part);
      taken += part.length;
    }
    if (taken === 0) return undefined;
    if (taken < bytes) throw new TarError('it is cut short');
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  }

  async *stream(bytes: number): AsyncGenerator<Uint8Array> {
    let left = bytes;
    for await (const part of this.#upTo(bytes)) {
      left -= part.length;
      yield part;
    }
    if (left > 0) throw new TarError('it is cut short');
  }

  async drain(): Promise<void> {
    while ((await this.#chunks.next()).done !== true);
  }

  /** Ends the source, which closes its file. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  async *#upTo(bytes: number): AsyncGenerator<Uint8Array> {
    for (let left = bytes; left > 0;) {
      if (this.#rest.length === 0) {
        const next = await this.#chunks.next();
        if (next.done === true) return;
        this.#rest = next.value;
        continue;
      }
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }
}

function checkSum(header: Uint8Array): void {
  const expected = Number.parseInt(textOf(header.subarray(148, 156)), 8);
  let sum = 0;
  for (const [at, byte] of header.entries()) sum += at >= 148 && at < 156 ? 32 : byte;
  if (sum !== expected) throw new TarError('it is no tar archive');
}

/** Octal digits, or GNU's binary form for large ones. */
function numberAt(header: Uint8Array, at: number, length: number): number {
  const field = header.subarray(at, at + length);
  let value = 0;
  if (((field[0] ?? 0) & 0x80) === 0) value = Number.parseInt(textOf(field).trim() || '0', 8);
  else for (const byte of field.subarray(1)) value = value * 256 + byte;
  if (!Number.isSafeInteger(value) || value < 0) throw new TarError('it has a member of no size');
  return value;
}

function textOf(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return Buffer.from(end < 0 ? bytes : bytes.subarray(0, end)).toString('utf8');
}

/** Records are `LENGTH KEY=VALUE\n`. */
function paxOf(data: Uint8Array): Extension {
  const found: { path?: string; linkPath?: string; size?: number } = {};
  const bytes = Buffer.from(data);
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(32, at);
    const length = space - at > MAX_LENGTH_DIGITS ? 0 : Number(bytes.toString('latin1', at, space));
    if (space < 0 || !Number.isSafeInteger(length) || length <= 0) throw new TarError('it has a damaged header');
    const record = bytes.toString('utf8', space + 1, at + length - 1);
    const [key, value] = [record.slice(0, record.indexOf('=')), record.slice(record.indexOf('=') + 1)];
    if (key === 'path') found.path = value;
    else if (key === 'linkpath') found.linkPath = value;
    else if (key === 'size') found.size = Number(value);
    at += length;
  }
  if (found.size !== undefined && !Number.isSafeInteger(found.size)) throw new TarError('it has a member of no size');
  return found;
}

/**
 * Reads the server name from the first message of a TLS client (RFC 8446, 4.1.2; RFC 6066, 3) without taking part in the
 * handshake.
 */

/** The result of parsing the first bytes. */
export type ClientHello = { readonly isTls: true; readonly serverName: string } | { readonly isTls: false };

const [HANDSHAKE, CLIENT_HELLO, SERVER_NAME, HOST_NAME] = [22, 1, 0, 0];
const RECORD_HEADER = 5;
const MESSAGE_HEADER = 4;
/** The limit of raw bytes; browsers send some two thousand. */
const MAX_BYTES = 64 * 1024;
/** The limit of records: a message has one or a few, and records of single bytes are refused. */
const MAX_RECORDS = 64;
/** The longest server name that OpenSSL accepts. */
const MAX_NAME_BYTES = 255;
const NO_TLS: ClientHello = { isTls: false };

/** Consumes the bytes of a connection as they arrive, each once. */
export class ClientHelloReader {
  #rawBytes = 0;
  #records = 0;
  /** The bytes of an incomplete record header. */
  readonly #header: number[] = [];
  /** The number of missing bytes of the record's content. */
  #left = 0;
  /** The content of the records so far. */
  readonly #content: Buffer[] = [];
  #contentBytes = 0;
  /** The message's type and length, with the bytes that arrived with them. */
  #messageHeader: Buffer | undefined;

  /** Consumes more bytes; undefined when further bytes are needed. */
  read(chunk: Buffer): ClientHello | undefined {
    this.#rawBytes += chunk.length;
    for (let at = 0; at < chunk.length;) {
      if (this.#left === 0) {
        if (!this.#takesHeaderByte(chunk[at++]!)) return NO_TLS;
        continue;
      }
      const part = chunk.subarray(at, at + this.#left);
      at += part.length;
      this.#left -= part.length;
      this.#content.push(part);
      this.#contentBytes += part.length;
      const hello = this.#helloSoFar();
      if (hello !== undefined) return hello;
    }
    return this.#rawBytes >= MAX_BYTES ? NO_TLS : undefined;
  }

  /** False when the header is not that of a handshake record, or of one record too many. */
  #takesHeaderByte(byte: number): boolean {
    const header = this.#header;
    header.push(byte);
    if (header.length === 1) return byte === HANDSHAKE && ++this.#records <= MAX_RECORDS;
    if (header.length === 2) return byte === 3;
    if (header.length < RECORD_HEADER) return true;
    this.#left = header[3]! * 256 + header[4]!;
    header.length = 0;
    return this.#left > 0;
  }

  #helloSoFar(): ClientHello | undefined {
    if (this.#content[0]![0] !== CLIENT_HELLO) return NO_TLS;
    if (this.#contentBytes < MESSAGE_HEADER) return undefined;
    this.#messageHeader ??= Buffer.concat(this.#content);
    const length = this.#messageHeader.readUIntBE(1, 3);
    if (length > MAX_BYTES) return NO_TLS;
    if (this.#contentBytes < MESSAGE_HEADER + length) return undefined;
    const message = Buffer.concat(this.#content).subarray(MESSAGE_HEADER, MESSAGE_HEADER + length);
    try {
      return { isTls: true, serverName: serverNameIn(message) };
    } catch (error) {
      // A length beyond the message, or a name too long for the look-up by labels.
      if (error instanceof RangeError) return NO_TLS;
      throw error;
    }
  }
}

/** '' when the client requests no name. */
function serverNameIn(hello: Buffer): string {
  const reader = new Reader(hello);
  reader.skip(2 + 32);
  reader.skip(reader.uint8());
  reader.skip(reader.uint16());
  reader.skip(reader.uint8());
  if (reader.isAtEnd) return '';
  const extensions = new Reader(reader.bytes(reader.uint16()));
  while (!extensions.isAtEnd) {
    const type = extensions.uint16();
    const data = extensions.bytes(extensions.uint16());
    if (type !== SERVER_NAME) continue;
    const names = new Reader(data);
    const list = new Reader(names.bytes(names.uint16()));
    while (!list.isAtEnd) {
      const kind = list.uint8();
      const name = list.bytes(list.uint16());
      if (name.length > MAX_NAME_BYTES) throw new RangeError('the name is longer than that of any host');
      if (kind === HOST_NAME) return name.toString('latin1').toLowerCase();
    }
  }
  return '';
}

/** Reads fields in order; throws a `RangeError` beyond the end. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  uint8(): number {
    return this.bytes(1)[0]!;
  }

  uint16(): number {
    return this.bytes(2).readUInt16BE(0);
  }

  skip(count: number): void {
    this.bytes(count);
  }

  bytes(count: number): Buffer {
    const end = this.#at + count;
    if (end > this.#bytes.length) throw new RangeError('the message ends too early');
    const found = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return found;
  }
}

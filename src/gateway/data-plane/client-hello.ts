/** The server name in the first message of a TLS client (RFC 8446, 4.1.2; RFC 6066, 3), read without taking part in TLS. */

/** What the first bytes say; undefined: more bytes decide. */
export type ClientHello = { readonly isTls: true; readonly serverName: string } | { readonly isTls: false };

const [HANDSHAKE, CLIENT_HELLO, SERVER_NAME, HOST_NAME] = [22, 1, 0, 0];
const RECORD_HEADER = 5;
const MESSAGE_HEADER = 4;
/** Raw bytes of the longest message that is read; browsers send some two thousand. */
const MAX_BYTES = 64 * 1024;
/** A message comes in one record or a few; records of single bytes are not collected without end. */
const MAX_RECORDS = 64;
const NO_TLS: ClientHello = { isTls: false };

/** Takes the bytes of a connection as they come, each of them once. */
export class ClientHelloReader {
  #rawBytes = 0;
  #records = 0;
  /** The bytes so far of a record header that is not whole. */
  readonly #header: number[] = [];
  /** How many bytes of the record's content are still to come. */
  #left = 0;
  /** Content of the records so far. */
  readonly #content: Buffer[] = [];
  #contentBytes = 0;
  /** The message's type and length, with what came beside them. */
  #messageHeader: Buffer | undefined;

  /** Takes the bytes that follow; undefined: more decide. */
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

  /** False: it begins no record of a handshake, or one too many. */
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
      // A length that leads beyond the message.
      if (error instanceof RangeError) return NO_TLS;
      throw error;
    }
  }
}

/** '' where the client names none. */
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
      if (kind === HOST_NAME) return name.toString('latin1').toLowerCase();
    }
  }
  return '';
}

/** Reads from the start to the end; throws a `RangeError` beyond it. */
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

/** The server name in the first message of a TLS client (RFC 8446, 4.1.2; RFC 6066, 3), read without taking part in TLS. */

/** What the first bytes say; undefined: more bytes decide. */
export type ClientHello = { readonly isTls: true; readonly serverName: string } | { readonly isTls: false };

const [HANDSHAKE, CLIENT_HELLO, SERVER_NAME, HOST_NAME] = [22, 1, 0, 0];
const RECORD_HEADER = 5;
const MESSAGE_HEADER = 4;
/** The longest message that is read; browsers send some two thousand bytes. */
const MAX_BYTES = 64 * 1024;
const NO_TLS: ClientHello = { isTls: false };

export function readClientHello(bytes: Buffer): ClientHello | undefined {
  const message = handshakeOf(bytes);
  if (message === undefined || 'isTls' in message) return message;
  if (message.length > 0 && message[0] !== CLIENT_HELLO) return NO_TLS;
  if (message.length < MESSAGE_HEADER) return undefined;
  const length = message.readUIntBE(1, 3);
  if (length > MAX_BYTES) return NO_TLS;
  if (message.length < MESSAGE_HEADER + length) return undefined;
  try {
    return { isTls: true, serverName: serverNameIn(message.subarray(MESSAGE_HEADER, MESSAGE_HEADER + length)) };
  } catch (error) {
    // A length that leads beyond the message.
    if (error instanceof RangeError) return NO_TLS;
    throw error;
  }
}

/** The handshake bytes that are there, which may come in several records. */
function handshakeOf(bytes: Buffer): Buffer | ClientHello | undefined {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    if (bytes[at] !== HANDSHAKE) return parts.length > 0 ? Buffer.concat(parts) : NO_TLS;
    if (bytes.length > at + 1 && bytes[at + 1] !== 3) return NO_TLS;
    if (bytes.length < at + RECORD_HEADER) break;
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0) return NO_TLS;
    parts.push(bytes.subarray(at + RECORD_HEADER, at + RECORD_HEADER + length));
    at += RECORD_HEADER + length;
  }
  return parts.length === 0 ? undefined : Buffer.concat(parts);
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

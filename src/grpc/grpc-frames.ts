/** gRPC's framing of messages: a flag for compression, four bytes of length, the message. */
import { GrpcError } from './grpc-error.ts';

const HEADER_BYTES = 5;

/** One message as it goes over the wire, uncompressed. */
export function frame(message: Uint8Array): Uint8Array {
  const framed = Buffer.allocUnsafe(HEADER_BYTES + message.length);
  framed[0] = 0;
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, HEADER_BYTES);
  return framed;
}

/** Cuts what arrives, in whatever pieces, into messages. */
export interface FrameReader {
  /** The messages completed by these bytes; views of them where possible. Throws a GrpcError when one is compressed. */
  read(bytes: Uint8Array): readonly Uint8Array[];
}

/** Starts before the first frame. */
export function createFrameReader(): FrameReader {
  let rest: Buffer = Buffer.alloc(0);
  return {
    read(bytes) {
      rest =
        rest.length === 0 ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length) : Buffer.concat([rest, bytes]);
      const messages: Uint8Array[] = [];
      while (rest.length >= HEADER_BYTES) {
        if (rest[0] !== 0) throw new GrpcError('Internal', 'a compressed message, which was not asked for');
        const end = HEADER_BYTES + rest.readUInt32BE(1);
        if (rest.length < end) break;
        messages.push(rest.subarray(HEADER_BYTES, end));
        rest = rest.subarray(end);
      }
      return messages;
    },
  };
}

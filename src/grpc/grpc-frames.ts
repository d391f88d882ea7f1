/**
 * gRPC's framing of messages: a flag for compression, four bytes of length, the message. By hand rather than by
 * @connectrpc/connect: its clients took half of Keelson's share of starting a pod.
 */
import { GrpcError } from './grpc-error.ts';

/** Bytes of a frame's header. */
export const HEADER_BYTES = 5;

/** A message in its uncompressed wire form. */
export function frame(message: Uint8Array): Uint8Array {
  const framed = Buffer.allocUnsafe(HEADER_BYTES + message.length);
  framed[0] = 0;
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, HEADER_BYTES);
  return framed;
}

/** Splits the received bytes into messages. */
export interface FrameReader {
  /** The messages completed by these bytes; views of them where possible. Throws a GrpcError when one is compressed. */
  read(bytes: Uint8Array): readonly Uint8Array[];
  /** Throws where the bytes end within a message. */
  end(): void;
}

/** A message larger than its receiver takes. */
export function tooLarge(bytes: number, maxBytes: number): GrpcError {
  return new GrpcError('ResourceExhausted', `grpc: received message larger than max (${bytes} vs. ${maxBytes})`);
}

/**
 * Starts before the first frame. Pieces are put together once: a large message arrives in hundreds of them. A message beyond
 * `maxBytes` is refused when its head is read.
 */
export function createFrameReader(maxBytes = Infinity): FrameReader {
  let pieces: Uint8Array[] = [];
  let length = 0;
  /** While fewer bytes are buffered, nothing is complete. */
  let wanted = HEADER_BYTES;
  return {
    read(bytes) {
      pieces.push(bytes);
      length += bytes.length;
      if (length < wanted) return [];
      let rest =
        pieces.length === 1 ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length) : Buffer.concat(pieces, length);
      const messages: Uint8Array[] = [];
      wanted = HEADER_BYTES;
      while (rest.length >= wanted) {
        if (rest[0] !== 0) throw new GrpcError('Internal', 'a compressed message, which was not asked for');
        const messageLength = rest.readUInt32BE(1);
        if (messageLength > maxBytes) throw tooLarge(messageLength, maxBytes);
        wanted = HEADER_BYTES + messageLength;
        if (rest.length < wanted) break;
        messages.push(rest.subarray(HEADER_BYTES, wanted));
        rest = rest.subarray(wanted);
        wanted = HEADER_BYTES;
      }
      pieces = rest.length === 0 ? [] : [rest];
      length = rest.length;
      return messages;
    },
    end() {
      if (length > 0) throw new GrpcError('Internal', 'unexpected EOF');
    },
  };
}

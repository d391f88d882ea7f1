/** Bytes in pieces, frames of a WebSocket's client, and a count of the turns that readers leave to others. */
import type { FramePace } from './frame-input.ts';

export async function* inPieces(of: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < of.length; at += size) yield of.subarray(at, at + size);
}

/** A client's frame, masked as RFC 6455 requires of clients. */
export function maskedFrame(opcode: number, payload: Uint8Array, final = true): Buffer {
  const mask = Buffer.from([1, 2, 3, 4]);
  const length = payload.byteLength;
  const size =
    length < 126
      ? [length]
      : length < 65_536
        ? [126, length >> 8, length & 0xff]
        : [127, 0, 0, 0, 0, length >>> 24, (length >> 16) & 0xff, (length >> 8) & 0xff, length & 0xff];
  const head = Buffer.from([(final ? 0x80 : 0) | opcode, 0x80 | size[0]!, ...size.slice(1)]);
  return Buffer.concat([head, mask, Buffer.from(payload.map((byte, at) => byte ^ mask[at & 3]!))]);
}

export class PaceCount implements FramePace {
  turns = 0;
  yields = 0;

  turn(): undefined {
    this.turns++;
  }

  async yield(): Promise<void> {
    this.yields++;
  }
}

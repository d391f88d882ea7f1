/**
 * Reads a client's messages on a WebSocket (RFC 6455): in the chunks in which they arrive, whatever their length and
 * frames.
 */
import { FrameInput, type FramePace } from './frame-input.ts';
import { OPCODES } from './websocket-frames.ts';

/** A piece of a message, unmasked, or a ping. An empty message is one empty piece. */
export interface MessagePiece {
  readonly kind: 'data' | 'ping';
  /** Whether this piece begins a message. */
  readonly isFirst: boolean;
  readonly payload: Buffer;
}

interface FrameHead {
  readonly final: boolean;
  readonly opcode: number;
  readonly length: number;
  readonly mask: Buffer;
}

const MAX_CONTROL_BYTES = 125;
/** The head without its length's further bytes and the mask. */
const FIRST_BYTES = 2;
const MASK_BYTES = 4;

/** Ends with the client's close, or its connection. @throws Error at what breaks the protocol */
export async function* readMessages(
  incoming: AsyncIterable<Uint8Array>,
  pace: FramePace,
): AsyncGenerator<MessagePiece> {
  const input = new FrameInput(incoming, pace);
  let isWithin = false;
  try {
    for (let head = await readHead(input); head !== undefined; head = await readHead(input)) {
      check(head, isWithin);
      if (head.opcode === OPCODES.close) return;
      const isData = head.opcode <= OPCODES.binary;
      if (head.opcode === OPCODES.ping)
        yield { kind: 'ping', isFirst: true, payload: await readControlPayload(input, head) };
      else if (isData) yield* dataOf(input, head);
      else await readControlPayload(input, head);
      if (isData) isWithin = !head.final;
    }
  } finally {
    await input.leave();
  }
}

async function readHead(input: FrameInput): Promise<FrameHead | undefined> {
  const first = await input.head(FIRST_BYTES);
  if (first === undefined) return undefined;
  if ((first[1]! & 0x80) === 0 || (first[0]! & 0x70) !== 0)
    throw new Error('WebSocket frame of a client must be masked and plain');
  const short = first[1]! & 0x7f;
  const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
  const more = await input.head(lengthBytes + MASK_BYTES);
  if (more === undefined) return undefined;
  const length = lengthBytes === 8 ? Number(more.readBigUInt64BE(0)) : lengthBytes === 2 ? more.readUInt16BE(0) : short;
  // A copy: the next bytes may overwrite the memory.
  return { final: first[0]! >= 0x80, opcode: first[0]! & 0x0f, length, mask: Buffer.from(more.subarray(lengthBytes)) };
}

/** `isWithin`: a message has begun and not ended. */
function check({ final, opcode, length }: FrameHead, isWithin: boolean): void {
  if (opcode >= OPCODES.close) {
    if (opcode > OPCODES.pong || !final || length > MAX_CONTROL_BYTES)
      throw new Error('WebSocket control frame must be known, whole and short');
    return;
  }
  if (opcode > OPCODES.binary) throw new Error(`WebSocket frame of an unknown kind: ${opcode}`);
  if ((opcode === OPCODES.continuation) !== isWithin)
    throw new Error(
      isWithin ? 'WebSocket message begins within another' : 'WebSocket message goes on that has not begun',
    );
}

async function* dataOf(input: FrameInput, head: FrameHead): AsyncGenerator<MessagePiece> {
  let isFirst = head.opcode !== OPCODES.continuation;
  if (isFirst && head.length === 0) yield { kind: 'data', isFirst, payload: Buffer.alloc(0) };
  for (let at = 0; at < head.length; isFirst = false) {
    const piece = await input.piece(head.length - at);
    if (piece === undefined) return;
    yield { kind: 'data', isFirst, payload: unmasked(piece, head.mask, at) };
    at += piece.length;
  }
}

async function readControlPayload(input: FrameInput, { length, mask }: FrameHead): Promise<Buffer> {
  return unmasked((await input.head(length)) ?? Buffer.alloc(0), mask, 0);
}

/** `from`: how far into its frame the piece is. */
function unmasked(piece: Buffer, mask: Buffer, from: number): Buffer {
  const payload = Buffer.from(piece);
  for (let at = 0; at < payload.length; at++) payload[at]! ^= mask[(from + at) & 3]!;
  return payload;
}

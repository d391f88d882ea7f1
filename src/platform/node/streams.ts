/** The port's byte streams over Node's: sinks with backpressure, coalescing sinks, sockets as duplexes. */
import type { Socket } from 'node:net';
import type { Duplex as NodeDuplex, Writable } from 'node:stream';
import { hasErrorCode } from '../../base/errors.ts';
import type { UnreadBytes } from '../../base/backlog.ts';
import type { ByteSink, Duplex } from '../streams.ts';

const lineEnd = Buffer.from('\r\n');
const done: Promise<void> = Promise.resolve();
/** Above this many coalesced bytes, they are written before the end of the turn. */
const FLUSH_BYTES = 64 * 1024;
/** The most bytes of one write of a long response: TLS copies them into malloc's heap (`cli/heap-environment.ts`). */
const PIECE_BYTES = 64 * 1024;

interface CoalescingOptions {
  /** Called when written bytes cannot be sent: the writer may not write again and notice. */
  readonly onBroken: (error: unknown) => void;
  /** Called when a turn ends with nothing written: lets response heads out. */
  readonly onEmptyFlush?: () => void;
  /** The stream to write HTTP/1.1 chunks to directly, past the response; called at each write. */
  readonly framedTarget?: () => Writable | undefined;
}

/** A sink over a Node stream. Everything written in one turn of the loop is sent in one write. */
export class CoalescingSink implements ByteSink {
  readonly #target: Writable;
  readonly #options: CoalescingOptions;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #scheduled = false;
  #ending = false;
  #blocked: Promise<void> | undefined;

  constructor(target: Writable, options: CoalescingOptions) {
    this.#target = target;
    this.#options = options;
    if (options.onEmptyFlush !== undefined) this.#schedule();
  }

  write(chunk: Uint8Array | string): Promise<void> {
    if (this.#ending || this.#target.destroyed || this.#target.errored) return Promise.reject(goneError(this.#target));
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    this.#chunks.push(bytes);
    this.#bytes += bytes.byteLength;
    if (this.#bytes >= FLUSH_BYTES) this.#flush();
    else this.#schedule();
    return this.#blocked ?? done;
  }

  end(): Promise<void> {
    if (this.#ending || this.#target.destroyed) return done;
    this.#flush();
    this.#ending = true;
    return new Promise((resolve) => {
      this.#target.once('close', resolve);
      this.#target.end(() => resolve());
    });
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#ending) return;
      try {
        this.#flush();
      } catch (error) {
        this.#options.onBroken(error);
      }
    });
  }

  #flush(): void {
    if (this.#target.destroyed) return;
    if (this.#chunks.length === 0) return this.#options.onEmptyFlush?.();
    const framed = this.#options.framedTarget?.();
    const target = framed ?? this.#target;
    const plain = this.#chunks.length === 1 ? this.#chunks[0]! : undefined;
    let whole: Uint8Array;
    if (framed !== undefined) whole = plain === undefined ? framedChunk(this.#chunks, this.#bytes) : framedOnce(plain);
    else whole = plain ?? Buffer.concat(this.#chunks, this.#bytes);
    this.#chunks = [];
    this.#bytes = 0;
    if (!target.write(whole) && this.#blocked === undefined) this.#blocked = this.#untilDrained(target);
  }

  #untilDrained(target: Writable): Promise<void> {
    const drained = untilDrained(target);
    const unblock = (): void => {
      this.#blocked = undefined;
    };
    drained.then(unblock, unblock);
    return drained;
  }
}

/** Runs a streamed answer into a sink. Rejects as soon as either breaks. */
export function runInto(
  answer: { run(sink: ByteSink): Promise<void> },
  open: (onBroken: (error: unknown) => void) => CoalescingSink,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const sink = open(reject);
    answer
      .run(sink)
      .then(() => sink.end())
      .then(resolve, reject);
  });
}

function framedChunk(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  const size = Buffer.from(`${bytes.toString(16)}\r\n`, 'latin1');
  return Buffer.concat([size, ...chunks, lineEnd], size.byteLength + bytes + lineEnd.byteLength);
}

/** Larger chunks are not kept. */
const KEPT_BYTES = 1024 * 1024;
let lastFramed: { readonly chunk: Uint8Array; readonly framed: Uint8Array } | undefined;

/** Frames a chunk once, though it is sent to many connections one after the other, as watch events are. */
function framedOnce(chunk: Uint8Array): Uint8Array {
  if (lastFramed?.chunk === chunk) return lastFramed.framed;
  const framed = framedChunk([chunk], chunk.byteLength);
  lastFramed = chunk.byteLength > KEPT_BYTES ? undefined : { chunk, framed };
  return framed;
}

/** Wraps a connected socket (or any Node duplex) and handles its errors. */
export function duplexOf(socket: NodeDuplex): Duplex {
  let destroyedHere = false;
  const closed = new Promise<void>((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });
  socket.on('error', () => undefined);
  return {
    write(chunk) {
      if (socket.destroyed || socket.writableEnded) return Promise.reject(goneError(socket));
      return socket.write(chunk) ? done : untilDrained(socket);
    },
    end() {
      if (socket.destroyed || socket.writableEnded) return done;
      return new Promise((resolve) => {
        socket.once('close', resolve);
        socket.end(() => resolve());
      });
    },
    incoming: readIncoming(socket, () => destroyedHere),
    destroy(error) {
      destroyedHere = error === undefined;
      socket.destroy(error);
    },
    closed,
  };
}

/** How long a peer may take to end its side, as in net/http; and how long written data may take to be read. */
const LINGER_MS = 500;
const READ_MS = 30_000;

/**
 * Ends a connection that is no longer read. Received data is discarded: closing with unread bytes would reset the
 * connection and could lose the end of the response. A socket that is not read never notices its peer's end.
 */
export function endUnread(socket: Socket): void {
  if (socket.destroyed) return;
  const destroy = (): void => {
    socket.destroy();
  };
  let timer = setTimeout(destroy, READ_MS).unref();
  socket.once('close', () => clearTimeout(timer));
  socket.end(() => {
    clearTimeout(timer);
    timer = setTimeout(destroy, LINGER_MS).unref();
  });
  socket.resume();
}

async function* readIncoming(socket: NodeDuplex, destroyedHere: () => boolean): AsyncGenerator<Uint8Array> {
  try {
    yield* socket.iterator({ destroyOnReturn: false });
  } catch (error) {
    if (destroyedHere()) return;
    const early = hasErrorCode(error, 'ERR_STREAM_PREMATURE_CLOSE');
    throw early ? goneError(socket) : error;
  }
}

/**
 * Writes a long response piece by piece and ends: one piece is in flight at a time, so that other requests get a turn
 * and a slow reader holds no copy of the whole. Ends when the reader disconnects. @param unread records the remaining
 * bytes
 */
export async function writeInTurns(
  target: Writable,
  pieces: readonly Uint8Array[],
  unread: UnreadBytes | undefined,
): Promise<void> {
  let left = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
  for (const piece of pieces)
    for (let at = 0; at < piece.byteLength; at += PIECE_BYTES) {
      if (target.destroyed) return;
      const part = piece.subarray(at, at + PIECE_BYTES);
      if (!target.write(part)) await untilDrained(target).catch(() => undefined);
      left -= part.byteLength;
      if (left > 0) unread?.set(left); // The target reports the rest when it has finished.
    }
  target.end();
}

function untilDrained(target: Writable): Promise<void> {
  const drained = new Promise<void>((resolve, reject) => {
    const onDrain = (): void => {
      target.off('close', onClose);
      resolve();
    };
    const onClose = (): void => {
      target.off('drain', onDrain);
      reject(goneError(target));
    };
    target.once('drain', onDrain);
    target.once('close', onClose);
  });
  drained.catch(() => undefined); // the writer may not wait
  return drained;
}

function goneError(stream: Writable): Error {
  return stream.errored ?? Object.assign(new Error('the connection is closed'), { code: 'ECONNRESET' });
}

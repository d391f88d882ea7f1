/**
 * Unread responses of one server to slow clients, which stay in memory: one connection has 250 streams, each with a
 * list of its own. Upstream ends such responses with the request's time limit.
 */
import { Backlog, type BacklogLimits, type UnreadBytes } from '../../base/backlog.ts';

const CHECK_EVERY_MS = 1000;

/** The destination of a response. */
interface Target {
  readonly writableFinished: boolean;
  once(event: 'close' | 'finish', listener: () => void): unknown;
  destroy(error: Error): unknown;
}

/** An error whose code states that the client is at fault, not the server. */
function notReadError(): Error {
  return Object.assign(new Error('the client does not read its answer'), { code: 'ECONNABORTED' });
}

/** The destination of a short response: an HTTP/2 stream. */
interface AnsweredStream extends Target {
  readonly session: object | undefined;
  readonly closed: boolean;
}

/** The memory of a waiting stream besides the response: its objects and the request's head. */
const STREAM_BYTES = 8 * 1024;
/** Smaller amounts of one connection fit into its buffers. */
const SESSION_BYTES = 64 * 1024;

/** Unsent short responses on the streams of one connection. */
class SessionAnswers {
  readonly #streams = new Map<Target, number>();
  readonly #backlog: Backlog;
  #bytes = 0;
  #unread: UnreadBytes | undefined;

  constructor(backlog: Backlog) {
    this.#backlog = backlog;
  }

  /** Adds a response; the backlog counts them once they are large enough. */
  add(stream: AnsweredStream, bytes: number): boolean {
    if (stream.closed) return false;
    this.#streams.set(stream, bytes + STREAM_BYTES);
    this.#change(bytes + STREAM_BYTES);
    stream.once('close', () => {
      const held = this.#streams.get(stream) ?? 0;
      this.#streams.delete(stream);
      this.#change(-held);
    });
    return this.#unread !== undefined;
  }

  #change(by: number): void {
    this.#bytes += by;
    if (this.#bytes > SESSION_BYTES) this.#unread ??= this.#backlog.reader(() => this.#cut());
    this.#unread?.set(this.#bytes > SESSION_BYTES ? this.#bytes : 0);
    if (this.#bytes <= SESSION_BYTES) this.#unread = undefined;
  }

  /** Ends these streams; others of the connection, such as watches, continue. */
  #cut(): void {
    this.#unread = undefined;
    for (const stream of [...this.#streams.keys()]) stream.destroy(notReadError());
  }
}

export class UnsentAnswers {
  readonly #backlog: Backlog;
  readonly #bySession = new WeakMap<object, SessionAnswers>();
  #timer: NodeJS.Timeout | undefined;

  constructor(limits?: BacklogLimits) {
    this.#backlog = new Backlog(() => performance.now(), limits);
  }

  /**
   * Adds a short response on an HTTP/2 stream. A connection has hundreds of them, so they are counted by connection.
   */
  addStream(stream: AnsweredStream, bytes: number): void {
    const { session } = stream;
    if (session === undefined) return;
    let answers = this.#bySession.get(session);
    if (answers === undefined) this.#bySession.set(session, (answers = new SessionAnswers(this.#backlog)));
    if (answers.add(stream, bytes)) this.#startChecks();
  }

  /** Bytes that wait, of all answers. */
  get bytes(): number {
    return this.#backlog.bytes;
  }

  /** Adds a response of this length; its connection or stream is closed when the client does not read. */
  add(target: Target, bytes: number): UnreadBytes | undefined {
    if (target.writableFinished) return undefined;
    const unread = this.#backlog.reader(() => target.destroy(notReadError()));
    const done = (): void => unread.leave();
    target.once('close', done);
    target.once('finish', done);
    unread.set(bytes);
    this.#startChecks();
    return unread;
  }

  #startChecks(): void {
    this.#timer ??= setInterval(() => this.#check(), CHECK_EVERY_MS).unref();
  }

  #check(): void {
    this.#backlog.check();
    if (!this.#backlog.isEmpty) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

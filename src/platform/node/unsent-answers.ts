/**
 * Answers on their way to clients that read slowly, of one server. What a client does not read stays in memory: one connection
 * has 250 streams, each with a list of its own. Upstream ends such answers with the request's time.
 */
import { Backlog, type BacklogLimits, type Unread } from '../../base/backlog.ts';

const CHECK_EVERY_MS = 1000;

/** What an answer is written to. */
interface Target {
  readonly writableFinished: boolean;
  once(event: 'close' | 'finish', listener: () => void): unknown;
  destroy(error: Error): unknown;
}

/** Its code says that the connection is at fault, not the server. */
function notRead(): Error {
  return Object.assign(new Error('the client does not read its answer'), { code: 'ECONNABORTED' });
}

export class UnsentAnswers {
  readonly #backlog: Backlog;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits?: BacklogLimits) {
    this.#backlog = new Backlog(() => performance.now(), limits);
  }

  /** Bytes that wait, of all answers. */
  get bytes(): number {
    return this.#backlog.bytes;
  }

  /** An answer of this length goes to the target; its connection or stream is cut when the client takes nothing of it. */
  add(target: Target, bytes: number): Unread | undefined {
    if (target.writableFinished) return undefined;
    const unread = this.#backlog.reader(() => target.destroy(notRead()));
    const done = (): void => unread.leave();
    target.once('close', done);
    target.once('finish', done);
    unread.set(bytes);
    this.#timer ??= setInterval(() => this.#check(), CHECK_EVERY_MS).unref();
    return unread;
  }

  #check(): void {
    this.#backlog.check();
    if (!this.#backlog.isEmpty) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

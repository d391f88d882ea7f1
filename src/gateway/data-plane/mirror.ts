/**
 * Mirrored requests, whose responses are read and dropped. They delay nothing: a copy that is slower than the request's body, or
 * takes too long, is aborted, and beyond a limit none is made.
 */
import { NotSentError, type BackendRequest, type BodyTarget } from './backends/backend-call.ts';
import type { Backends } from './backends/backends.ts';
import type { CancelTimer, Clock } from '../../platform/clock.ts';
import type { Backend } from '../snapshot/snapshot.ts';

const MAX_PENDING_BYTES = 256 * 1024;
/** The time from the last part of a copy until its complete response. */
const MAX_MS = 60_000;
/** The limit of copies in progress for all routes; each has a connection of its own. */
const MAX_UNDER_WAY = 500;

export interface Mirror {
  write(chunk: Buffer): void;
  end(): void;
  /** The request will not be complete: its copy ends, unless it is already complete. */
  cut(): void;
}

type MirrorBackends = Pick<Backends, 'order' | 'call' | 'failed'>;
type MirroredRequest = Omit<BackendRequest, 'sendBody'> & { readonly clientAddress: string };

export class Mirrors {
  readonly #clock: Clock;
  readonly #backends: MirrorBackends;
  #underWay = 0;

  constructor(clock: Clock, backends: MirrorBackends) {
    this.#clock = clock;
    this.#backends = backends;
  }

  /** Sends the head; `write` and `end` follow for a request with a body. Undefined when no copy is made. */
  start(backend: Backend, { clientAddress, ...request }: MirroredRequest): Mirror | undefined {
    const [endpoint] = this.#backends.order(backend, clientAddress);
    if (endpoint === undefined || this.#underWay >= MAX_UNDER_WAY) return undefined;
    const body = new PendingBody();
    const sendBody = (target: BodyTarget): void => body.open(target);
    const call = this.#backends.call(endpoint, { ...request, sendBody }, backend);
    this.#underWay++;
    let isOver = false;
    let isCancelled = false;
    const cancel = (): void => {
      isCancelled = true;
      body.drop();
      call.cancel();
    };
    let cancelTimer: CancelTimer = () => undefined;
    const startTimer = (): void => {
      cancelTimer();
      if (!isOver) cancelTimer = this.#clock.setTimer(MAX_MS, cancel);
    };
    const over = (): void => {
      if (isOver) return;
      isOver = true;
      this.#underWay--;
      cancelTimer();
      if (request.hasBody && !body.isSent) cancel();
    };
    startTimer();
    call.answer.then(
      ({ body: answer }) => {
        answer.on('error', () => undefined);
        if (answer.closed) over();
        else answer.once('close', over).resume();
      },
      (error: unknown) => {
        if (error instanceof NotSentError && !isCancelled) this.#backends.failed(endpoint);
        over();
      },
    );
    return {
      write(chunk) {
        if (isOver || isCancelled) return;
        startTimer();
        if (!body.write(chunk)) cancel();
      },
      end: () => body.end(),
      cut() {
        if (request.hasBody && !body.isEnded) cancel();
      },
    };
  }
}

/** The part of a body that a mirror has not read yet. */
class PendingBody {
  #target: BodyTarget | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #isBlocked = false;
  #isDropped = false;
  #isEnded = false;
  #isSent = false;

  /** Whether the request's body has ended. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Whether the target has received the whole body. */
  get isSent(): boolean {
    return this.#isSent;
  }

  open(target: BodyTarget): void {
    this.#target = target;
    target.onDrain(() => {
      this.#isBlocked = false;
      this.#flush();
    });
    this.#flush();
  }

  /** Returns false when too many bytes wait. */
  write(chunk: Buffer): boolean {
    if (this.#isDropped) return true;
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_PENDING_BYTES) return false;
    this.#flush();
    return true;
  }

  end(): void {
    this.#isEnded = true;
    this.#flush();
  }

  /** Stops sending and drops waiting bytes. */
  drop(): void {
    this.#isDropped = true;
    [this.#chunks, this.#bytes] = [[], 0];
  }

  #flush(): void {
    if (this.#target === undefined || this.#isBlocked || this.#isDropped || this.#isSent) return;
    for (const chunk of this.#chunks) this.#isBlocked = !this.#target.write(chunk) || this.#isBlocked;
    [this.#chunks, this.#bytes] = [[], 0];
    if (!this.#isEnded) return;
    this.#isSent = true;
    this.#target.end([]);
  }
}

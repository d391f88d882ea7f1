/**
 * Shares the event loop among pieces of work. Node.js handles all readable sockets in one phase, and all pending
 * immediates in one: a hundred pieces of two milliseconds would block the loop for two hundred. Here all but the
 * first wait in a queue, and each turn continues as many as fit into a few milliseconds; sockets and timers are
 * handled in between.
 *
 * Invariants: within a flow first come, first served; flows with waiting work take turns; work without a flow, which
 * is the cluster's own, comes after each of them. The microtasks of a piece finish before the next piece continues.
 */
import { NextTurn } from './next-turn.ts';

/** How long waiting work runs in one turn of the loop. */
const TURN_MS = 4;
/** The most short pieces that begin in one turn without reading the clock. */
const SHORT_AT_ONCE = 16;

export interface LoopDeps {
  nowMs(): number;
  /** Calls back in the next phase of immediates. */
  nextTurn(callback: () => void): void;
  /** Calls back when no microtask is left. */
  afterMicrotasks(callback: () => void): void;
}

const ofThisThread: LoopDeps = {
  nowMs: () => performance.now(),
  nextTurn: (callback) => {
    setImmediate(callback);
  },
  // Ticks come before microtasks, but not before those that are under way.
  afterMicrotasks: (callback) => queueMicrotask(() => process.nextTick(callback)),
};

/** First come, first served. */
class Queue {
  #waiting: (() => void)[] = [];
  /** How many of `#waiting` have continued. */
  #gone = 0;

  push(resume: () => void): void {
    this.#waiting.push(resume);
  }

  take(): (() => void) | undefined {
    const next = this.#waiting[this.#gone];
    if (next === undefined) return undefined;
    this.#gone++;
    if (this.#gone === this.#waiting.length || this.#gone > 1024) {
      this.#waiting = this.#waiting.slice(this.#gone);
      this.#gone = 0;
    }
    return next;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  get length(): number {
    return this.#waiting.length - this.#gone;
  }
}

/** Queues that take turns: the cluster's own comes after each of the others. */
class Flows {
  readonly #own = new Queue();
  /** Flows with waiting work, the next one first. */
  readonly #others = new Map<string, Queue>();
  #wasOwn = false;

  push(flow: string | undefined, resume: () => void): void {
    if (flow === undefined) return this.#own.push(resume);
    let queue = this.#others.get(flow);
    if (queue === undefined) this.#others.set(flow, (queue = new Queue()));
    queue.push(resume);
  }

  take(): (() => void) | undefined {
    const isOwn = this.#others.size === 0 || (!this.#wasOwn && !this.#own.isEmpty);
    this.#wasOwn = isOwn;
    return isOwn ? this.#own.take() : this.#takeOther();
  }

  #takeOther(): (() => void) | undefined {
    for (const [flow, queue] of this.#others) {
      const next = queue.take();
      this.#others.delete(flow);
      if (!queue.isEmpty) this.#others.set(flow, queue);
      return next;
    }
    return undefined;
  }

  get isEmpty(): boolean {
    return this.#own.isEmpty && this.#others.size === 0;
  }

  lengthOf(flow: string | undefined): number {
    return flow === undefined ? this.#own.length : (this.#others.get(flow)?.length ?? 0);
  }
}

export class LoopTurns {
  readonly #deps: LoopDeps;
  readonly #flows = new Flows();
  /** When the last turn began. */
  #startMs = 0;
  /** Whether long work has begun since the last turn, or is in progress. */
  #isTaken = false;
  /** How many short pieces have begun since the last turn. */
  #begun = 0;
  readonly #nextTurn: NextTurn;

  constructor(deps: LoopDeps = ofThisThread) {
    this.#deps = deps;
    this.#nextTurn = new NextTurn(deps.nextTurn, () => this.#runTurn());
  }

  /** Resolves in a later turn. */
  yield(flow?: string): Promise<void> {
    return new Promise((resolve) => {
      this.#flows.push(flow, resolve);
      this.#nextTurn.schedule();
    });
  }

  /** Call before work that may be long. Undefined for the first caller; a promise for all others. */
  turn(flow?: string): Promise<void> | undefined {
    if (this.#isTaken) return this.yield(flow);
    this.#isTaken = true;
    this.#nextTurn.schedule();
    return undefined;
  }

  /** Call before work that is mostly short. Undefined for the first few callers; a promise for all others. */
  begin(flow?: string): Promise<void> | undefined {
    this.#begun++;
    if (this.#begun > SHORT_AT_ONCE) return this.yield(flow);
    if (this.#begun === SHORT_AT_ONCE) this.#nextTurn.schedule();
    return undefined;
  }

  /** How many pieces of a flow wait. */
  waitingOf(flow: string | undefined): number {
    return this.#flows.lengthOf(flow);
  }

  #runTurn(): void {
    this.#isTaken = true;
    this.#startMs = this.#deps.nowMs();
    this.#goOn();
  }

  readonly #goOn = (): void => {
    const isOver = this.#deps.nowMs() - this.#startMs >= TURN_MS;
    const next = isOver ? undefined : this.#flows.take();
    if (next !== undefined) {
      next();
      this.#deps.afterMicrotasks(this.#goOn);
      return;
    }
    this.#isTaken = false;
    this.#begun = 0;
    if (!this.#flows.isEmpty) this.#nextTurn.schedule();
  };
}

/** The turns of this thread: it has one loop. */
export const loopTurns = new LoopTurns();

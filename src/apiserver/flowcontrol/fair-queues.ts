/**
 * The queues of one priority level, emptied fairly. Upstream: util/flowcontrol/fairqueuing/queueset.
 *
 * Start-time fair queuing: each queue has a virtual time at which its next request is due, counted in seat-seconds of
 * service it has had. The queue that is due first is served, round robin among equals. What a request takes is guessed
 * when it starts and corrected when it ends, so who sends long or wide requests waits longer. An idle queue gathers no
 * credit, and its debt is dropped once no request waits.
 *
 * Differs: the debt of a queue survives idle times, since a flow with few requests at a time, which has several queues,
 * would never pay otherwise. A request that starts without waiting belongs to no queue and is not charged.
 */
import { dealHand } from './shuffle-sharding.ts';

/** The estimate until the request ends. As upstream. */
const GUESS_SECONDS = 0.003;

/** Shape of the queues. */
export interface QueuingShape {
  readonly queues: number;
  readonly handSize: number;
  /** Most requests that wait in one queue. */
  readonly queueLengthLimit: number;
}

interface Queue {
  readonly waiting: Set<unknown>;
  waitingSeats: number;
  executing: number;
  executingSeats: number;
  dueSeconds: number;
}

export interface SeatedRequest {
  /** Seats it takes. */
  readonly width: number;
}

/** A request's place in a queue. */
export interface Queued<T extends SeatedRequest> {
  readonly item: T;
  readonly queue: Queue;
}

/** One queue as debugging shows it. */
export interface QueueState<T> {
  readonly index: number;
  readonly waiting: readonly T[];
  readonly waitingSeats: number;
  readonly executing: number;
  readonly executingSeats: number;
  readonly dueSeconds: number;
}

/** Queues of items of one kind. */
export class FairQueues<T extends SeatedRequest> {
  #queues: Queue[] = [];
  #shape: QueuingShape = { queues: 0, handSize: 0, queueLengthLimit: 0 };
  #nowSeconds = 0;
  #robin = 0;
  #size = 0;

  /** How many wait. */
  get size(): number {
    return this.#size;
  }

  /** Takes another shape; what waits keeps its queue until it is served. */
  reshape(shape: QueuingShape): void {
    this.#shape = shape;
    this.#trim();
    while (this.#queues.length < shape.queues)
      this.#queues.push({
        waiting: new Set(),
        waitingSeats: 0,
        executing: 0,
        executingSeats: 0,
        dueSeconds: this.#nowSeconds,
      });
  }

  /** Puts an item into the emptiest queue of its flow's hand; undefined when that is full. */
  add(item: T, flowHash: bigint): Queued<T> | undefined {
    const { queues, handSize, queueLengthLimit } = this.#shape;
    let queue: Queue | undefined;
    for (const index of dealHand(flowHash, queues, handSize)) {
      const other = this.#queues[index]!;
      if (queue === undefined || isBefore(other, queue)) queue = other;
    }
    if (queue === undefined || queue.waiting.size >= queueLengthLimit) return undefined;
    if (queue.waiting.size === 0) queue.dueSeconds = Math.max(queue.dueSeconds, this.#nowSeconds);
    const queued: Queued<T> = { item, queue };
    queue.waiting.add(queued);
    queue.waitingSeats += item.width;
    this.#size++;
    return queued;
  }

  /** Takes the item whose turn it is, unless it does not fit; the caller reports its end to `ended`. */
  next(fits: (item: T) => boolean): Queued<T> | undefined {
    if (this.#size === 0) return undefined;
    const count = this.#queues.length;
    let best: Queue | undefined;
    let bestIndex = 0;
    for (let step = 1; step <= count; step++) {
      const index = (this.#robin + step) % count;
      const queue = this.#queues[index]!;
      if (queue.waiting.size === 0 || (best !== undefined && queue.dueSeconds >= best.dueSeconds)) continue;
      best = queue;
      bestIndex = index;
    }
    const [queued] = best!.waiting as Set<Queued<T>>;
    if (best === undefined || queued === undefined || !fits(queued.item)) return undefined;
    this.#robin = bestIndex;
    this.#nowSeconds = Math.max(this.#nowSeconds, best.dueSeconds);
    this.#take(queued);
    best.dueSeconds += GUESS_SECONDS * queued.item.width;
    best.executing++;
    best.executingSeats += queued.item.width;
    if (this.#size === 0) this.#settle();
    return queued;
  }

  /** A request that was served has ended. `seconds`: how long it took. */
  ended({ item, queue }: Queued<T>, seconds: number): void {
    queue.executing--;
    queue.executingSeats -= item.width;
    queue.dueSeconds += (seconds - GUESS_SECONDS) * item.width;
    this.#trim();
  }

  /** Removes an item that no longer waits; returns false when its turn has come already. */
  remove(queued: Queued<T>): boolean {
    if (!queued.queue.waiting.has(queued)) return false;
    this.#take(queued);
    this.#trim();
    return true;
  }

  /** The content of the queues. */
  states(): QueueState<T>[] {
    return this.#queues.map((queue, index) => ({
      ...queue,
      index,
      waiting: [...(queue.waiting as Set<Queued<T>>)].map(({ item }) => item),
    }));
  }

  /** No request waits: all queues have the same debt. */
  #settle(): void {
    for (const { dueSeconds } of this.#queues) this.#nowSeconds = Math.max(this.#nowSeconds, dueSeconds);
  }

  #take(queued: Queued<T>): void {
    queued.queue.waiting.delete(queued);
    queued.queue.waitingSeats -= queued.item.width;
    this.#size--;
  }

  /** Drops queues beyond the shape once they are empty. */
  #trim(): void {
    while (this.#queues.length > this.#shape.queues && load(this.#queues.at(-1)!) === 0) this.#queues.pop();
  }
}

/** Whether a request is better off there: less is before it, or it is due earlier. */
function isBefore(a: Queue, b: Queue): boolean {
  return load(a) < load(b) || (load(a) === load(b) && a.dueSeconds < b.dueSeconds);
}

function load(queue: Queue): number {
  return queue.waitingSeats + queue.executingSeats;
}

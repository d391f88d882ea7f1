/** The seats that a request holds while it runs. Upstream: the release function of a queueset's request. */
import { RequestSlot } from '../filters/request-slot.ts';
import type { Queued } from './fair-queues.ts';
import type { Flow, Waiting } from './flow.ts';

/** Keeps count of free seats. */
interface SeatOwner {
  released(seat: Seat): void;
  retaken(seat: Seat): void;
  ended(seat: Seat): void;
}

/** Seats a request holds. */
export class Seat extends RequestSlot {
  readonly #owner: SeatOwner;
  readonly flow: Flow;
  readonly width: number;
  /** When it was admitted, moved forward by the time it waited without seats. */
  startMs: number;
  /** The start of its present wait without seats. */
  waitsSinceMs: number | undefined;
  readonly read: boolean;
  readonly queued: Queued<Waiting> | undefined;

  // oxlint-disable-next-line max-params -- one per request: an object of parameters would be a second allocation
  constructor(owner: SeatOwner, flow: Flow, width: number, startMs: number, read: boolean, queued?: Queued<Waiting>) {
    super();
    this.#owner = owner;
    this.flow = flow;
    this.width = width;
    this.startMs = startMs;
    this.read = read;
    this.queued = queued;
  }

  protected release(): void {
    this.#owner.released(this);
  }

  protected retake(): void {
    this.#owner.retaken(this);
  }

  protected ended(): void {
    this.#owner.ended(this);
  }
}

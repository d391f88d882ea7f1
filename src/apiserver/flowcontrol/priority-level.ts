/**
 * The state of one priority level: its seats, those in use, and its queues.
 *
 * A level outlives changes of its configuration and the deletion of its object: running requests keep their seats,
 * waiting ones their places.
 */
import type { PriorityLevelConfigurationSpec } from '../../api/gen/flowcontrol-v1.ts';
import { FairQueues, type SeatedRequest } from './fair-queues.ts';
import { SeatDemand } from './seat-demand.ts';
import type { SeatLimits } from './seat-limits.ts';

const NO_QUEUES = { queues: 0, handSize: 0, queueLengthLimit: 0 };

/** The counts of a level's requests so far. */
export interface LevelCounts {
  dispatched: number;
  rejected: number;
  timedOut: number;
  cancelled: number;
}

/** `T` is the type of waiting requests. */
export class PriorityLevel<T extends SeatedRequest> {
  readonly name: string;
  readonly queues = new FairQueues<T>();
  readonly demand = new SeatDemand();
  readonly counts: LevelCounts = { dispatched: 0, rejected: 0, timedOut: 0, cancelled: 0 };
  /** The uid of the level's object; '' when there is none. */
  uid = '';
  spec: PriorityLevelConfigurationSpec = { type: 'Limited' };
  limits: SeatLimits = { nominal: 0, min: 0, max: 0 };
  /** The present number of seats, including borrowed and without lent ones. */
  seats = 0;
  seatsTaken = 0;
  executing = 0;
  /** Whether requests are served without limits. */
  exempt = false;
  /** Whether requests wait when there is no seat; otherwise they are refused. */
  queuing = false;
  /** Whether its object was deleted; remaining requests are still served. */
  quiescing = false;

  constructor(name: string) {
    this.name = name;
  }

  /** Applies its object's spec. A new share takes effect at once; lending and borrowing at the next period. */
  configure(spec: PriorityLevelConfigurationSpec, uid: string, limits: SeatLimits): void {
    if (limits.nominal !== this.limits.nominal || limits.min !== this.limits.min || limits.max !== this.limits.max)
      this.seats = limits.nominal;
    this.spec = spec;
    this.uid = uid;
    this.limits = limits;
    this.exempt = spec.type === 'Exempt';
    this.queuing = spec.type === 'Limited' && spec.limited?.limitResponse?.type === 'Queue';
    this.quiescing = false;
    const { queues = 64, handSize = 8, queueLengthLimit = 50 } = spec.limited?.limitResponse?.queuing ?? {};
    this.queues.reshape(this.queuing ? { queues, handSize, queueLengthLimit } : NO_QUEUES);
  }

  /** Whether this many seats are free. A request wider than the level may use all of it. */
  fits(width: number): boolean {
    return this.exempt || this.seatsTaken + width <= this.seats || (width > this.seats && this.executing === 0);
  }

  /** Takes seats. */
  take(width: number): void {
    this.executing++;
    this.seatsTaken += width;
  }

  /** Gives seats back. */
  giveBack(width: number): void {
    this.executing--;
    this.seatsTaken -= width;
  }

  get idle(): boolean {
    return this.executing === 0 && this.queues.size === 0;
  }
}

/**
 * Schedules the writes of network watches in rounds. A write costs about the same however much it carries, so after each
 * round there is a pause as long as the writing took, and changes of that time go out together. Writing thus takes half of
 * the time at most. Short rounds have no pause. Within a round requests are served after some of the watches, and the
 * changes they make join the rest of the round. Upstream has a goroutine per watch and writes each event.
 *
 * Invariants: a member is in at most one round at a time, and its frames go out in the order they came.
 */
import { Backlog, type Unread } from '../../base/backlog.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { background } from '../../platform/unexpected.ts';

/** Timers are no finer: shorter pauses are left out. */
const MIN_PAUSE_MS = 1;
/** The longest pause, however long a round took. */
const MAX_PAUSE_MS = 50;

const BACKLOG_PERIOD_MS = 1000;

/** Watches written between two turns of other work; more when the last turn of other work took long. */
const LEAST_AT_ONCE = 32;
/** A shorter writing time counts as this. */
const LEAST_WRITING_MS = 1;

/** Joins several frames into one buffer. */
type Join = (frames: readonly Uint8Array[]) => Uint8Array;

/** A watch with frames to write. */
export interface RoundMember {
  /** Writes all it has at once, joined. */
  flush(join: Join): void;
  /** Called when `flush` threw: the member is dropped, the others go on. */
  fail(error: unknown): void;
}

/** The rounds of one server. */
export class FlushRounds {
  readonly #clock: Clock;
  readonly #log: Log;
  #members: RoundMember[] = [];
  /** A round is scheduled or under way. */
  #isScheduled = false;
  #pauseMs = 0;
  #lastEndMs = Number.NEGATIVE_INFINITY;
  readonly #backlog: Backlog;
  #cancelChecks: (() => void) | undefined;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
    this.#backlog = new Backlog(() => clock.monotonicMs());
  }

  /** A watch whose frames wait: `giveUp` is called when its reader stands still and all watches together hold too much. */
  reader(giveUp: () => void): Unread {
    this.#cancelChecks ??= this.#clock.setTicker(BACKLOG_PERIOD_MS, () => this.#checkBacklog());
    return this.#backlog.reader(giveUp);
  }

  #checkBacklog(): void {
    this.#backlog.check();
    if (!this.#backlog.isEmpty) return;
    this.#cancelChecks?.();
    this.#cancelChecks = undefined;
  }

  /** Adds a member to the next round. */
  add(member: RoundMember): void {
    this.#members.push(member);
    if (!this.#isScheduled) this.#schedule();
  }

  #schedule(): void {
    this.#isScheduled = true;
    const pauseMs = this.#pauseMs - (this.#clock.monotonicMs() - this.#lastEndMs);
    // The first round begins when the change that asks for it has reached all watches.
    const begin = (): void => background(this.#log, 'watches could not be written to', this.#round());
    if (pauseMs < MIN_PAUSE_MS) queueMicrotask(begin);
    else this.#clock.setTimer(pauseMs, begin);
  }

  async #round(): Promise<void> {
    const members = this.#members;
    this.#members = [];
    const join = sharedJoin();
    let writingMs = 0;
    try {
      for (let at = 0, count = LEAST_AT_ONCE; at < members.length;) {
        const { othersMs, tookMs } = await this.#write(members.slice(at, at + count), join);
        writingMs += tookMs;
        at += count;
        count = Math.max(LEAST_AT_ONCE, Math.ceil((count * othersMs) / Math.max(tookMs, LEAST_WRITING_MS)));
      }
    } finally {
      this.#lastEndMs = this.#clock.monotonicMs();
      this.#pauseMs = Math.min(MAX_PAUSE_MS, writingMs);
      this.#isScheduled = false;
      if (this.#members.length > 0) this.#schedule();
    }
  }

  /** Writes, and measures how long other work and then the writing took: sockets are written at the end of the turn. */
  async #write(members: readonly RoundMember[], join: Join): Promise<{ othersMs: number; tookMs: number }> {
    const askedMs = this.#clock.monotonicMs();
    const began = this.#clock.yield().then(() => this.#clock.monotonicMs());
    for (const member of members) flushOf(member, join);
    await this.#clock.yield();
    const startMs = await began;
    return { othersMs: startMs - askedMs, tookMs: this.#clock.monotonicMs() - startMs };
  }
}

function flushOf(member: RoundMember, join: Join): void {
  try {
    member.flush(join);
  } catch (error) {
    member.fail(error);
  }
}

/** Joins frames. Members with the same frames, as most have, share the joined buffer. */
function sharedJoin(): Join {
  const known = new Map<Uint8Array, { readonly frames: readonly Uint8Array[]; readonly joined: Uint8Array }>();
  return (frames) => {
    const [first] = frames;
    if (first === undefined || frames.length === 1) return first ?? new Uint8Array();
    const same = known.get(first);
    if (same?.frames.length === frames.length && same.frames.every((frame, index) => frame === frames[index]))
      return same.joined;
    const joined = Buffer.concat(frames);
    known.set(first, { frames, joined });
    return joined;
  };
}

/**
 * When network watches write. Everything that came for them is written in rounds, and after a round there is a pause as
 * long as the writing took: that takes half of the time at most, and what changes meanwhile goes out together. A write
 * costs about the same however much it carries, so many watchers of many changes cost a fraction; where rounds are short
 * there is no pause. Nor do many watchers keep everybody else waiting for a whole round: after some of them requests
 * have their turn, which bring the changes that the rest of the round takes along. Upstream has a goroutine per watch,
 * and writes each event.
 *
 * Invariants: a member is in at most one round at a time, and its frames go out in the order they came.
 */
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { background } from '../../platform/unexpected.ts';

/** Shorter pauses are none: timers are no finer. */
const minPauseMs = 1;
/** However long a round takes, others get what changed after so long. */
const maxPauseMs = 50;

/** So many are written at once, or as many as take as long as others just had: these cannot hold up the writing either. */
const leastAtOnce = 32;
/** What takes less counts as so much. */
const leastWritingMs = 1;

/** Makes one piece of several frames. */
type Join = (frames: readonly Uint8Array[]) => Uint8Array;

/** Has something to write. */
export interface RoundMember {
  /** Writes all it has at once, joined. */
  flush(join: Join): void;
  /** It threw when it should have written: it gets no other turn, and the others keep theirs. */
  fail(error: unknown): void;
}

/** The rounds of one server. */
export class FlushRounds {
  readonly #clock: Clock;
  readonly #log: Log;
  #members: RoundMember[] = [];
  /** A round is to come, or under way. */
  #isScheduled = false;
  #pauseMs = 0;
  #lastEndMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Takes a member into the next round. */
  add(member: RoundMember): void {
    this.#members.push(member);
    if (!this.#isScheduled) this.#schedule();
  }

  #schedule(): void {
    this.#isScheduled = true;
    const pauseMs = this.#pauseMs - (this.#clock.monotonicMs() - this.#lastEndMs);
    // The first round begins when the change that asks for it has reached all watches.
    const begin = (): void => background(this.#log, 'watches could not be written to', this.#round());
    if (pauseMs < minPauseMs) queueMicrotask(begin);
    else this.#clock.setTimer(pauseMs, begin);
  }

  async #round(): Promise<void> {
    const members = this.#members;
    this.#members = [];
    const join = sharedJoin();
    let writingMs = 0;
    try {
      for (let at = 0, count = leastAtOnce; at < members.length;) {
        const { othersMs, tookMs } = await this.#write(members.slice(at, at + count), join);
        writingMs += tookMs;
        at += count;
        count = Math.max(leastAtOnce, Math.ceil((count * othersMs) / Math.max(tookMs, leastWritingMs)));
      }
    } finally {
      this.#lastEndMs = this.#clock.monotonicMs();
      this.#pauseMs = Math.min(maxPauseMs, writingMs);
      this.#isScheduled = false;
      if (this.#members.length > 0) this.#schedule();
    }
  }

  /** What is written goes to the connections at the end of the turn, after what others do in it: two looks at the clock tell. */
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

/** Joins frames; members that have the same ones, as most have, get the same bytes. */
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

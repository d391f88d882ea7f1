/**
 * When network watches write. Everything that came for them is written in rounds, all watches in one go, and after a round
 * there is a pause as long as the round took: so writing takes half of the time at most, and what changes meanwhile goes
 * out together. A write costs about the same however much it carries, so many watchers of many changes cost a fraction;
 * where rounds are short there is no pause. Upstream has a goroutine per watch, and writes each event.
 *
 * Invariants: a member is in at most one round at a time, and its frames go out in the order they came.
 */
import type { Clock } from '../../platform/clock.ts';

/** Shorter pauses are none: timers are no finer. */
const minPauseMs = 1;
/** However long a round takes, others get what changed after so long. */
const maxPauseMs = 50;

/** Has something to write. */
export interface RoundMember {
  /** Writes all it has at once; `join` makes one piece of several. */
  flush(join: (frames: readonly Uint8Array[]) => Uint8Array): void;
}

/** The rounds of one server. */
export class FlushRounds {
  readonly #clock: Clock;
  #members: RoundMember[] = [];
  /** A round is to come, or under way. */
  #isScheduled = false;
  #lastTookMs = 0;
  #lastEndMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes a member into the next round. */
  add(member: RoundMember): void {
    this.#members.push(member);
    if (!this.#isScheduled) this.#schedule();
  }

  #schedule(): void {
    this.#isScheduled = true;
    const pauseMs = Math.min(maxPauseMs, this.#lastTookMs) - (this.#clock.monotonicMs() - this.#lastEndMs);
    // The first round begins when the change that asks for it has reached all watches.
    if (pauseMs < minPauseMs) queueMicrotask(() => this.#round());
    else this.#clock.setTimer(pauseMs, () => this.#round());
  }

  #round(): void {
    const members = this.#members;
    this.#members = [];
    const join = sharedJoin();
    // What is written goes to the connections at the end of the turn: between these two looks at the clock.
    let startMs = 0;
    const began = this.#clock.yield().then(() => (startMs = this.#clock.monotonicMs()));
    for (const member of members) member.flush(join);
    void Promise.all([began, this.#clock.yield()]).then(() => {
      this.#lastEndMs = this.#clock.monotonicMs();
      this.#lastTookMs = this.#lastEndMs - startMs;
      this.#isScheduled = false;
      if (this.#members.length > 0) this.#schedule();
    });
  }
}

/** Joins frames; members that have the same ones, as most have, get the same bytes. */
function sharedJoin(): (frames: readonly Uint8Array[]) => Uint8Array {
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

/**
 * Schedules the writes of network watches in rounds. A write costs about the same whatever its size, so each round is
 * followed by a pause as long as the writing took, and changes during the pause are sent together. Writing thus takes
 * at most half of the time. Short rounds have no pause. Within a round requests are served between groups of watches,
 * and the changes they make join the rest of the round. Upstream has a goroutine per watch and writes each event.
 *
 * Invariants: a member is in at most one round at a time, and its frames are sent in order.
 */
import { Backlog, type UnreadBytes } from '../../base/backlog.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { background } from '../../platform/unexpected.ts';

/** Shorter pauses are skipped, since timers are no finer. */
const MIN_PAUSE_MS = 1;
/** The longest pause, however long a round took. */
const MAX_PAUSE_MS = 50;

const BACKLOG_PERIOD_MS = 1000;

/**
 * How many watches are written between two turns of other work, at least; more when the last turn of other work took
 * long.
 */
const LEAST_AT_ONCE = 32;
/**
 * How many bytes are written between two turns of other work, except for the last watch's: encrypting them takes
 * about 10 ms.
 */
const MOST_BYTES_AT_ONCE = 4 * 1024 * 1024;
/** A shorter writing time counts as this much. */
const LEAST_WRITING_MS = 1;

/** Joins several frames into one buffer. */
type Join = (frames: readonly Uint8Array[]) => Uint8Array;

/** A watch with frames to write. */
export interface RoundMember {
  /** Writes everything pending, or a part if it is large, joined. Returns the number of bytes. */
  flush(join: Join): number;
  /** Called when `flush` threw: the member is dropped, the others continue. */
  fail(error: unknown): void;
}

/** The rounds of one server. */
export class FlushRounds {
  readonly #clock: Clock;
  readonly #log: Log;
  #members: RoundMember[] = [];
  /** Whether a round is scheduled or in progress. */
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

  /**
   * Registers a watch's pending frames: `giveUp` is called when its reader has stalled and all watches together hold
   * too much.
   */
  reader(giveUp: () => void): UnreadBytes {
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
    // The first round begins when the change that causes it has reached all watches.
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
        const { written, othersMs, tookMs } = await this.#write(members.slice(at, at + count), join);
        writingMs += tookMs;
        at += written;
        count = Math.max(LEAST_AT_ONCE, Math.ceil((written * othersMs) / Math.max(tookMs, LEAST_WRITING_MS)));
      }
    } finally {
      this.#lastEndMs = this.#clock.monotonicMs();
      this.#pauseMs = Math.min(MAX_PAUSE_MS, writingMs);
      this.#isScheduled = false;
      if (this.#members.length > 0) this.#schedule();
    }
  }

  /**
   * Writes members until their bytes exceed the limit, and measures how long other work and then the writing took:
   * sockets are written at the end of the turn.
   */
  async #write(
    members: readonly RoundMember[],
    join: Join,
  ): Promise<{ written: number; othersMs: number; tookMs: number }> {
    const askedMs = this.#clock.monotonicMs();
    const began = this.#clock.yield().then(() => this.#clock.monotonicMs());
    let [written, bytes] = [0, 0];
    for (; written < members.length && bytes < MOST_BYTES_AT_ONCE; written++) bytes += flushOf(members[written]!, join);
    await this.#clock.yield();
    const startMs = await began;
    return { written, othersMs: startMs - askedMs, tookMs: this.#clock.monotonicMs() - startMs };
  }
}

function flushOf(member: RoundMember, join: Join): number {
  try {
    return member.flush(join);
  } catch (error) {
    member.fail(error);
    return 0;
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

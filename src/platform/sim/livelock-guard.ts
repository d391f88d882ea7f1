/** Finds callbacks that run for ever at one instant of virtual time, and names those who schedule them. */
/** Time cannot advance: callbacks keep scheduling more at the same instant, or a busy token is never released. */
export class LivelockError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'LivelockError';
  }
}

/** Thousands of machines do more at one instant than a few: the limit rises by this many callbacks for each timer that waited when the instant began. */
const CALLBACKS_PER_TIMER = 20;

export class LivelockGuard {
  readonly #maxCallbacks: number;
  #callbacksNow = 0;
  #mostNow: number;
  readonly #culprits = new Map<string, number>();

  constructor(maxCallbacks: number) {
    this.#maxCallbacks = maxCallbacks;
    this.#mostNow = maxCallbacks;
  }

  /** Another instant begins. */
  reset(pendingTimers: number): void {
    this.#callbacksNow = 0;
    this.#mostNow = this.#maxCallbacks + CALLBACKS_PER_TIMER * pendingTimers;
    if (this.#culprits.size > 0) this.#culprits.clear();
  }

  count(): void {
    this.#callbacksNow++;
    this.noteScheduler();
  }

  /** Near the cap, remembers the callers that schedule: too costly to do always. */
  noteScheduler(): void {
    if (this.#callbacksNow < this.#mostNow * 0.9) return;
    const where = new Error().stack
      ?.split('\n')
      .find((line) => line.includes(' at ') && !/virtual-clock\.ts|livelock-guard\.ts/.test(line));
    const name = where?.trim() ?? 'unknown';
    this.#culprits.set(name, (this.#culprits.get(name) ?? 0) + 1);
  }

  check(): void {
    if (this.#callbacksNow <= this.#mostNow) return;
    const worst = [...this.#culprits].sort((a, b) => b[1] - a[1]).slice(0, 5);
    const lines = worst.map(([where, times]) => `  ${times} × ${where}`).join('\n');
    this.#callbacksNow = 0;
    throw new LivelockError(`more than ${this.#mostNow} callbacks ran while virtual time stood still:\n${lines}`);
  }
}

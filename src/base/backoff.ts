/**
 * Exponential back-off: one delay sequence (`createBackoff`) and delays per key (`KeyedBackoff`). Times are passed in, so
 * that nothing here reads a clock. Upstream: k8s.io/client-go/util/flowcontrol.Backoff, k8s.io/apimachinery wait.Backoff.
 */

/** Shape of an exponential delay. */
export interface BackoffConfig {
  readonly initialMs: number;
  readonly maxMs: number;
  /** Growth per step. Default 2. */
  readonly factor?: number;
  /** Adds up to this share of the delay at random. Default 0. */
  readonly jitter?: number;
}

/** A sequence of growing delays. */
export interface Backoff {
  /** The next delay in milliseconds. */
  nextMs(): number;
  /** Starts over from the initial delay. */
  reset(): void;
}

const noRandom = (): number => 0;

/** A single back-off sequence; `random` is uniform in [0, 1) and needed only with jitter. */
export function createBackoff(config: BackoffConfig, random: () => number = noRandom): Backoff {
  return new BackoffSequence(config, random);
}

/** A class: every volume of every pod has one. */
class BackoffSequence implements Backoff {
  readonly #config: BackoffConfig;
  readonly #random: () => number;
  #currentMs = 0;

  constructor(config: BackoffConfig, random: () => number) {
    this.#config = config;
    this.#random = random;
  }

  nextMs(): number {
    const { initialMs, maxMs, factor = 2, jitter = 0 } = this.#config;
    this.#currentMs = Math.min(this.#currentMs === 0 ? initialMs : this.#currentMs * factor, maxMs);
    return withJitter(this.#currentMs, jitter, this.#random);
  }

  reset(): void {
    this.#currentMs = 0;
  }
}

interface Entry {
  backoffMs: number;
  lastUpdateMs: number;
}

/** Back-off per key, forgotten after twice the maximum without a new failure. */
export class KeyedBackoff {
  /** Made at the first failure. */
  #entries: Map<string, Entry> | undefined;
  readonly #config: BackoffConfig;
  readonly #random: () => number;

  constructor(config: BackoffConfig, random: () => number = noRandom) {
    this.#config = config;
    this.#random = random;
  }

  /** The present delay of the key; 0 when it has none. */
  getMs(key: string): number {
    return this.#entries?.get(key)?.backoffMs ?? 0;
  }

  /** Counts a failure at `eventMs`: the first one, or one long after the last, sets the initial delay, others grow it. */
  next(key: string, eventMs: number): void {
    const entry = this.#entries?.get(key);
    if (entry === undefined || this.#expired(eventMs, entry)) {
      const backoffMs = withJitter(this.#config.initialMs, this.#config.jitter ?? 0, this.#random);
      (this.#entries ??= new Map()).set(key, { backoffMs, lastUpdateMs: eventMs });
      return;
    }
    const grown = withJitter(entry.backoffMs * (this.#config.factor ?? 2), this.#config.jitter ?? 0, this.#random);
    entry.backoffMs = Math.min(grown, this.#config.maxMs);
    entry.lastUpdateMs = eventMs;
  }

  /** Whether the key is still held back at `eventMs`, counting from its last update. */
  isInBackoffSinceUpdate(key: string, eventMs: number): boolean {
    const entry = this.#entries?.get(key);
    if (entry === undefined || this.#expired(eventMs, entry)) return false;
    return eventMs - entry.lastUpdateMs < entry.backoffMs;
  }

  /** Forgets the key. */
  reset(key: string): void {
    this.#entries?.delete(key);
  }

  /** Drops keys whose last failure is older than twice the maximum. Call from time to time. */
  collect(nowMs: number): void {
    for (const [key, entry] of this.#entries ?? []) {
      if (nowMs - entry.lastUpdateMs > this.#config.maxMs * 2) this.#entries?.delete(key);
    }
  }

  get size(): number {
    return this.#entries?.size ?? 0;
  }

  #expired(eventMs: number, entry: Entry): boolean {
    return eventMs - entry.lastUpdateMs > this.#config.maxMs * 2;
  }
}

function withJitter(delayMs: number, jitter: number, random: () => number): number {
  return jitter > 0 ? delayMs + random() * jitter * delayMs : delayMs;
}

/**
 * What a controller still has to see in its cache of what it did: creations and deletions of one owner. While they are
 * not seen, the cache must not be acted on. Upstream: controller ControllerExpectations, UIDTrackingControllerExpectations.
 */
import type { Clock } from '../platform/clock.ts';

/** Unfulfilled for this long, expectations are taken for lost and ignored. */
const TIMEOUT_MS = 5 * 60_000;

interface Expected {
  creations: number;
  readonly deletions: Set<string>;
  readonly atMs: number;
}

/** Expectations per owner key. */
export class Expectations {
  readonly #clock: Clock;
  readonly #expected = new Map<string, Expected>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the cache shows all that was done (or enough time passed). */
  satisfied(owner: string): boolean {
    const expected = this.#expected.get(owner);
    if (expected === undefined) return true;
    if (expected.creations <= 0 && expected.deletions.size === 0) return true;
    return this.#clock.monotonicMs() - expected.atMs > TIMEOUT_MS;
  }

  /** Replaces what is expected: this many creations. */
  expectCreations(owner: string, count: number): void {
    this.#expected.set(owner, { creations: count, deletions: new Set(), atMs: this.#clock.monotonicMs() });
  }

  /** Replaces what is expected: the deletion of these objects (by any unique key). */
  expectDeletions(owner: string, keys: readonly string[]): void {
    this.#expected.set(owner, { creations: 0, deletions: new Set(keys), atMs: this.#clock.monotonicMs() });
  }

  /** Replaces what is expected: creations and deletions. */
  expect(owner: string, creations: number, deletions: readonly string[]): void {
    this.#expected.set(owner, { creations, deletions: new Set(deletions), atMs: this.#clock.monotonicMs() });
  }

  /** A creation was seen, or did not come about. */
  creationObserved(owner: string): void {
    const expected = this.#expected.get(owner);
    if (expected !== undefined) expected.creations--;
  }

  /** A deletion was seen, or did not come about. */
  deletionObserved(owner: string, key: string): void {
    this.#expected.get(owner)?.deletions.delete(key);
  }

  /** The owner is gone. */
  forget(owner: string): void {
    this.#expected.delete(owner);
  }
}

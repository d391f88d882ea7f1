/**
 * The creations and deletions of one owner that a controller made and has not yet seen in its cache. Until they are
 * seen, the controller must not act on the cache. Upstream: controller ControllerExpectations
 * (SatisfiedExpectations), UIDTrackingControllerExpectations.
 */
import type { Clock } from '../platform/clock.ts';

/** Expectations older than this are considered lost and ignored. */
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

  /** Whether the cache shows everything that was done, or enough time has passed. */
  satisfied(owner: string): boolean {
    const expected = this.#expected.get(owner);
    if (expected === undefined) return true;
    if (expected.creations <= 0 && expected.deletions.size === 0) return true;
    return this.#clock.monotonicMs() - expected.atMs > TIMEOUT_MS;
  }

  /** Replaces the expectations: this many creations. */
  expectCreations(owner: string, count: number): void {
    this.#expected.set(owner, { creations: count, deletions: new Set(), atMs: this.#clock.monotonicMs() });
  }

  /** Replaces the expectations: the deletion of these objects (by any unique key). */
  expectDeletions(owner: string, keys: readonly string[]): void {
    this.#expected.set(owner, { creations: 0, deletions: new Set(keys), atMs: this.#clock.monotonicMs() });
  }

  /** Replaces the expectations: creations and deletions. */
  expect(owner: string, creations: number, deletions: readonly string[]): void {
    this.#expected.set(owner, { creations, deletions: new Set(deletions), atMs: this.#clock.monotonicMs() });
  }

  /** Call when a creation was seen or has failed. */
  creationObserved(owner: string): void {
    const expected = this.#expected.get(owner);
    if (expected !== undefined) expected.creations--;
  }

  /** Call when a deletion was seen or has failed. */
  deletionObserved(owner: string, key: string): void {
    this.#expected.get(owner)?.deletions.delete(key);
  }

  /** Call when the owner was deleted. */
  forget(owner: string): void {
    this.#expected.delete(owner);
  }
}

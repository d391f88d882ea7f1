/**
 * Samples of the last hour in rings of fixed size, one ring for each subject. Their number is bounded: a new one takes the place
 * of the one that was written longest ago, if that one is no longer written, or if the new one is preferred.
 */
import { SLOTS } from './timeline.ts';

export interface Sample {
  readonly slot: number;
  readonly values: readonly number[];
  /** A preferred subject's ring may take the place of one that would be written in this slot as well. */
  readonly preferred?: boolean;
}

interface Ring<S> {
  subject: S;
  readonly values: Float32Array;
  readonly first: number;
  newest: number;
}

/** Rings by a key. `NaN` stands for an unknown measure. */
export class Rings<S> {
  /** Ordered by their last write. */
  readonly #rings = new Map<string, Ring<S>>();
  readonly #measures: number;
  readonly #most: number;

  constructor(limits: { readonly measures: number; readonly most: number }) {
    this.#measures = limits.measures;
    this.#most = limits.most;
  }

  get size(): number {
    return this.#rings.size;
  }

  /** Memory of the rings, without their keys and subjects. */
  get byteLength(): number {
    return this.#rings.size * SLOTS * this.#measures * Float32Array.BYTES_PER_ELEMENT;
  }

  /** Writes the sample of a slot. False: there is no room. */
  write(key: string, subject: S, sample: Sample): boolean {
    const { slot, values } = sample;
    const ring = this.#rings.get(key) ?? this.#made(subject, sample);
    if (ring === undefined) return false;
    this.#rings.delete(key);
    this.#rings.set(key, ring);
    for (let missed = Math.max(ring.newest + 1, slot - SLOTS + 1); missed < slot; missed++)
      ring.values.fill(Number.NaN, this.#at(missed), this.#at(missed) + this.#measures);
    ring.newest = slot;
    ring.subject = subject;
    ring.values.set(values, this.#at(slot));
    return true;
  }

  /** One measure in these slots; undefined when there is no such ring. */
  read(key: string, measure: number, slots: readonly number[]): readonly number[] | undefined {
    const ring = this.#rings.get(key);
    return ring && slots.map((slot) => this.#value(ring, measure, slot));
  }

  /**
   * Adds the measures to sums of the same slots, whose `NaN` is nothing yet. Returns the sum over all slots: how large the
   * subject is among others.
   */
  addTo(
    sums: Float64Array,
    key: string,
    { measures, slots }: { measures: readonly number[]; slots: readonly number[] },
  ) {
    const ring = this.#rings.get(key);
    let size = 0;
    if (ring === undefined) return size;
    for (const [index, slot] of slots.entries()) {
      for (const measure of measures) {
        const value = this.#value(ring, measure, slot);
        if (Number.isNaN(value)) continue;
        size += value;
        sums[index] = Number.isNaN(sums[index]!) ? value : sums[index]! + value;
      }
    }
    return size;
  }

  /** All subjects, each with the first slot that was written. */
  *subjects(): Iterable<{ readonly key: string; readonly subject: S; readonly first: number }> {
    for (const [key, { subject, first }] of this.#rings) yield { key, subject, first };
  }

  /** Frees rings without a sample in the hour before a slot. */
  forgetBefore(slot: number): void {
    for (const [key, { newest }] of this.#rings) {
      if (newest > slot - SLOTS) return;
      this.#rings.delete(key);
    }
  }

  #made(subject: S, { slot, preferred = false }: Sample): Ring<S> | undefined {
    if (this.#rings.size >= this.#most) {
      const oldest = this.#rings.entries().next().value;
      if (oldest === undefined || oldest[1].newest >= (preferred ? slot : slot - 1)) return undefined;
      this.#rings.delete(oldest[0]);
    }
    const values = new Float32Array(SLOTS * this.#measures).fill(Number.NaN);
    return { subject, values, first: slot, newest: slot };
  }

  #at(slot: number): number {
    return (slot % SLOTS) * this.#measures;
  }

  #value({ values, first, newest }: Ring<S>, measure: number, slot: number): number {
    if (slot < first || slot > newest || slot <= newest - SLOTS) return Number.NaN;
    return values[this.#at(slot) + measure]!;
  }
}

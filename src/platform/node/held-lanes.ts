/** Connections that are not read for now, by their clients' lanes, which take turns. */

export interface InLane {
  readonly lane: string | undefined;
}

export class HeldLanes<T extends InLane> {
  /** The lane whose turn is next comes first, in each lane the one that waits longest. */
  readonly #lanes = new Map<string | undefined, Set<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(one: T): void {
    const lane = this.#lanes.get(one.lane);
    if (lane === undefined) this.#lanes.set(one.lane, new Set([one]));
    else lane.add(one);
    this.#size++;
  }

  delete(one: T): void {
    const lane = this.#lanes.get(one.lane);
    if (lane?.delete(one) !== true) return;
    this.#size--;
    if (lane.size === 0) this.#lanes.delete(one.lane);
  }

  /** Takes so many at most: one of each lane after the other, the cluster's own lane first in each round. */
  take(limit: number, isOpen: (lane: string | undefined) => boolean): T[] {
    const taken: T[] = [];
    for (let before = -1; taken.length > before && taken.length < limit;) {
      before = taken.length;
      for (const lane of this.#inOrder()) {
        if (taken.length === limit) break;
        const one = isOpen(lane) ? this.#takeOne(lane) : undefined;
        if (one !== undefined) taken.push(one);
      }
    }
    return taken;
  }

  #inOrder(): (string | undefined)[] {
    const lanes = [...this.#lanes.keys()];
    return this.#lanes.has(undefined) ? [undefined, ...lanes.filter((lane) => lane !== undefined)] : lanes;
  }

  #takeOne(lane: string | undefined): T | undefined {
    const ones = this.#lanes.get(lane);
    if (ones === undefined) return undefined;
    const [one] = ones;
    ones.delete(one!);
    this.#size--;
    this.#lanes.delete(lane);
    if (ones.size > 0) this.#lanes.set(lane, ones);
    return one;
  }
}

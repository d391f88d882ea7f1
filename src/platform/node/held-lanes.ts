/**
 * Connections that are not read at present, by their clients' lanes. The kernel reports connections in the order in
 * which they continue, and the first one with much data ends a phase of the loop, so that nobody after it is read. So
 * the cluster's own continue first, then lanes that have ended fewer phases before those that have ended more; equal
 * ones take turns.
 */

export interface InLane {
  readonly lane: string | undefined;
}

/**
 * The most connections that continue in one turn: this many that were not read yet, and as many that were. Half may
 * be the cluster's own.
 */
export interface TurnLimits {
  readonly silent: number;
  readonly busy: number;
}

interface Lane<T> {
  readonly silent: Set<T>;
  readonly busy: Set<T>;
}

interface Room {
  silent: number;
  busy: number;
}

export class HeldLanes<T extends InLane> {
  /** Among equal lanes the first one has the next turn. */
  readonly #lanes = new Map<string | undefined, Lane<T>>();
  /** How many ended phases a lane was part of. */
  readonly #heat = new Map<string | undefined, number>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(one: T, kind: keyof Lane<T>): void {
    let lane = this.#lanes.get(one.lane);
    if (lane === undefined) this.#lanes.set(one.lane, (lane = { silent: new Set(), busy: new Set() }));
    lane[kind].add(one);
    this.#size++;
  }

  delete(one: T): void {
    const lane = this.#lanes.get(one.lane);
    if (lane === undefined || !(lane.silent.delete(one) || lane.busy.delete(one))) return;
    this.#size--;
    if (isEmpty(lane)) this.#lanes.delete(one.lane);
  }

  /** Records that these lanes were read in a phase that was ended. */
  heat(lanes: ReadonlySet<string | undefined>): void {
    for (const lane of lanes) this.#heat.set(lane, this.#heatOf(lane) + 1);
  }

  /** Makes all lanes equal, for another flood. */
  cool(): void {
    this.#heat.clear();
  }

  /** Removes and returns the connections of a turn, in the order in which they continue. */
  take({ silent, busy }: TurnLimits, isOpen: (lane: string | undefined) => boolean): T[] {
    const taken: T[] = [];
    const own = { silent: silent / 2, busy: busy / 2 };
    this.#takeAll([undefined], own, taken);
    const room = { silent: silent / 2 + own.silent, busy: busy / 2 + own.busy };
    const others = [...this.#lanes.keys()].filter((lane) => lane !== undefined && isOpen(lane));
    const byHeat = Map.groupBy(others, (lane) => this.#heatOf(lane));
    for (const heat of [...byHeat.keys()].sort((a, b) => a - b)) this.#takeAll(byHeat.get(heat)!, room, taken);
    return taken;
  }

  #heatOf(lane: string | undefined): number {
    return this.#heat.get(lane) ?? 0;
  }

  /** One of each lane after the other. */
  #takeAll(lanes: readonly (string | undefined)[], room: Room, taken: T[]): void {
    for (let left = lanes; left.length > 0;) left = left.filter((lane) => this.#takeSome(lane, room, taken));
  }

  /** Returns false when no more connections of the lane continue. */
  #takeSome(name: string | undefined, room: Room, taken: T[]): boolean {
    const lane = this.#lanes.get(name);
    if (lane === undefined) return false;
    // Unread ones first, or one that was just read would precede those that have waited longer.
    const kind = lane.silent.size > 0 && room.silent >= 1 ? 'silent' : 'busy';
    const [one] = lane[kind];
    if (one === undefined || room[kind] < 1) return false;
    room[kind]--;
    lane[kind].delete(one);
    this.#size--;
    taken.push(one);
    this.#lanes.delete(name);
    if (!isEmpty(lane)) this.#lanes.set(name, lane);
    return true;
  }
}

function isEmpty({ silent, busy }: Lane<unknown>): boolean {
  return silent.size === 0 && busy.size === 0;
}

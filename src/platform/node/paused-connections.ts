/**
 * Connections that are not read at present, by their clients' flows. The kernel reports connections in the order in
 * which they continue, and the first one with much data ends a phase of the loop, so that nobody after it is read. So
 * the cluster's own continue first, then flows that have ended fewer phases before those that have ended more; equal
 * ones take turns.
 */

export interface FlowMember {
  readonly flow: string | undefined;
}

/**
 * The most connections that continue in one turn: this many that were not read yet, and as many that were. Half may
 * be the cluster's own.
 */
export interface TurnLimits {
  readonly silent: number;
  readonly busy: number;
}

interface Flow<T> {
  readonly silent: Set<T>;
  readonly busy: Set<T>;
}

interface TurnCapacity {
  silent: number;
  busy: number;
}

export class PausedConnections<T extends FlowMember> {
  /** Among equal flows the first one has the next turn. */
  readonly #flows = new Map<string | undefined, Flow<T>>();
  /** How many ended phases a flow was part of. */
  readonly #penalties = new Map<string | undefined, number>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(one: T, kind: keyof Flow<T>): void {
    let flow = this.#flows.get(one.flow);
    if (flow === undefined) this.#flows.set(one.flow, (flow = { silent: new Set(), busy: new Set() }));
    flow[kind].add(one);
    this.#size++;
  }

  delete(one: T): void {
    const flow = this.#flows.get(one.flow);
    if (flow === undefined || !(flow.silent.delete(one) || flow.busy.delete(one))) return;
    this.#size--;
    if (isEmpty(flow)) this.#flows.delete(one.flow);
  }

  /** Records that these flows were read in a phase that was ended. */
  penalize(flows: ReadonlySet<string | undefined>): void {
    for (const flow of flows) this.#penalties.set(flow, this.#penaltyOf(flow) + 1);
  }

  /** Makes all flows equal, for another flood. */
  forgetPenalties(): void {
    this.#penalties.clear();
  }

  /** Removes and returns the connections of a turn, in the order in which they continue. */
  take({ silent, busy }: TurnLimits, isOpen: (flow: string | undefined) => boolean): T[] {
    const taken: T[] = [];
    const own = { silent: silent / 2, busy: busy / 2 };
    this.#takeAll([undefined], own, taken);
    const capacity = { silent: silent / 2 + own.silent, busy: busy / 2 + own.busy };
    const others = [...this.#flows.keys()].filter((flow) => flow !== undefined && isOpen(flow));
    const byPenalty = Map.groupBy(others, (flow) => this.#penaltyOf(flow));
    for (const penalty of [...byPenalty.keys()].sort((a, b) => a - b))
      this.#takeAll(byPenalty.get(penalty)!, capacity, taken);
    return taken;
  }

  #penaltyOf(flow: string | undefined): number {
    return this.#penalties.get(flow) ?? 0;
  }

  /** One of each flow after the other. */
  #takeAll(flows: readonly (string | undefined)[], capacity: TurnCapacity, taken: T[]): void {
    for (let left = flows; left.length > 0;) left = left.filter((flow) => this.#takeSome(flow, capacity, taken));
  }

  /** Returns false when no more connections of the flow continue. */
  #takeSome(name: string | undefined, capacity: TurnCapacity, taken: T[]): boolean {
    const flow = this.#flows.get(name);
    if (flow === undefined) return false;
    // Unread ones first, or one that was just read would precede those that have waited longer.
    const kind = flow.silent.size > 0 && capacity.silent >= 1 ? 'silent' : 'busy';
    const [one] = flow[kind];
    if (one === undefined || capacity[kind] < 1) return false;
    capacity[kind]--;
    flow[kind].delete(one);
    this.#size--;
    taken.push(one);
    this.#flows.delete(name);
    if (!isEmpty(flow)) this.#flows.set(name, flow);
    return true;
  }
}

function isEmpty({ silent, busy }: Flow<unknown>): boolean {
  return silent.size === 0 && busy.size === 0;
}

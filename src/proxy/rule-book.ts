/**
 * What a table should hold and what it is believed to hold. Owners (services, pods) claim elements; where two claim the same
 * key, the one that came first holds it and the other takes over when it goes. Pure memory: no I/O.
 */
import type { Chain } from './chains.ts';
import type { Element } from './desired-rules.ts';

interface Claim {
  /** The element's rank among those of its owner. */
  readonly rank: number;
  readonly element: Element;
}

/** The state of one key of one set. */
interface Entry {
  /** By rank: the first one applies. Mostly one. */
  readonly claims: Claim[];
  /** The element that should be in the kernel. */
  programmed: Element | undefined;
}

/** The changes of the table, applied in this order: chains, deletes, adds. */
export interface Changes {
  readonly chains: readonly Chain[];
  readonly deletes: readonly Element[];
  readonly adds: readonly Element[];
}

/**
 * Desired and programmed elements of one table. `replace` must not be called between `take…` and the report of the
 * result.
 */
export class RuleBook {
  readonly #entries = new Map<string, Entry>();
  readonly #owned = new Map<string, { readonly rank: number; readonly elements: readonly Element[] }>();
  #nextRank = 0;
  #programmedChains = new Set<string>();
  #touched = new Set<string>();

  /** Replaces an owner's elements; none for a deleted owner. */
  replace(owner: string, elements: readonly Element[]): void {
    const before = this.#owned.get(owner);
    if (elements.length === 0 && before === undefined) return;
    const rank = before?.rank ?? this.#nextRank++;
    const wanted = new Map(elements.map((element) => [element.id, element]));
    for (const element of before?.elements ?? []) {
      const id = element.id;
      if (!wanted.has(id)) this.#unclaim(rank, id);
    }
    for (const [id, element] of wanted) this.#claim(id, { rank, element });
    if (wanted.size === 0) this.#owned.delete(owner);
    else this.#owned.set(owner, { rank, elements: wanted.size === elements.length ? elements : [...wanted.values()] });
  }

  /** The changes since the programmed state. Call `applied` after they are in the kernel. */
  takeChanges(): Changes {
    const deletes: Element[] = [];
    const adds: Element[] = [];
    for (const id of this.#touched) {
      const entry = this.#entries.get(id);
      const wanted = entry?.claims[0]?.element;
      if (entry === undefined || entry.programmed?.value === wanted?.value) continue;
      if (entry.programmed !== undefined) deletes.push(entry.programmed);
      if (wanted !== undefined) adds.push(wanted);
    }
    return { chains: chainsOf(adds).filter((c) => !this.#programmedChains.has(c.name)), deletes, adds };
  }

  /** The complete desired state, to rewrite the table. Call `rewritten` after it is in the kernel. */
  takeAll(): Changes & { readonly staleChains: readonly string[] } {
    const adds: Element[] = [];
    for (const { claims } of this.#entries.values()) if (claims[0] !== undefined) adds.push(claims[0].element);
    const chains = chainsOf(adds);
    const needed = new Set(chains.map((c) => c.name));
    return { chains, deletes: [], adds, staleChains: [...this.#programmedChains].filter((name) => !needed.has(name)) };
  }

  /** Notes that the changes taken are in the kernel. */
  applied(changes: Changes): void {
    for (const id of this.#touched) this.#settle(id);
    this.#touched = new Set();
    for (const chain of changes.chains) this.#programmedChains.add(chain.name);
  }

  /** Records that the table holds exactly the desired state. */
  rewritten(all: Changes): void {
    for (const id of this.#entries.keys()) this.#settle(id);
    this.#touched = new Set();
    this.#programmedChains = new Set(all.chains.map((c) => c.name));
  }

  #settle(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    entry.programmed = entry.claims[0]?.element;
    if (entry.programmed === undefined) this.#entries.delete(id);
  }

  #claim(id: string, claim: Claim): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) this.#entries.set(id, { claims: [claim], programmed: undefined });
    else {
      const at = placeOf(entry.claims, claim.rank);
      const replaced = entry.claims[at]?.rank === claim.rank ? 1 : 0;
      entry.claims.splice(at, replaced, claim);
    }
    this.#touched.add(id);
  }

  #unclaim(rank: number, id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    const at = placeOf(entry.claims, rank);
    if (entry.claims[at]?.rank === rank) entry.claims.splice(at, 1);
    this.#touched.add(id);
  }
}

/** The index of the rank in the sorted claims. */
function placeOf(claims: readonly Claim[], rank: number): number {
  let [low, high] = [0, claims.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (claims[middle]!.rank < rank) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The chains of the elements, in order of dependency. */
function chainsOf(elements: readonly Element[]): Chain[] {
  const chains = new Map<string, Chain>();
  for (const { chain } of elements) {
    if (chain === undefined || chains.has(chain.name)) continue;
    for (const needed of chain.needs) chains.set(needed.name, needed);
    chains.set(chain.name, chain);
  }
  return [...chains.values()];
}

/**
 * What a table should hold and what it is believed to hold. Owners (services, pods) claim elements; where two claim the same
 * key, the one that came first holds it and the other takes over when it goes. Pure memory: no I/O.
 */
import type { Chain } from './chains.ts';
import type { Element, SetName } from './desired-rules.ts';

interface Claim {
  readonly owner: string;
  readonly rank: number;
  readonly element: Element;
}

/** What has to change in the table, in the order to apply it: chains, deletes, adds. */
export interface Changes {
  readonly chains: readonly Chain[];
  readonly deletes: readonly Element[];
  readonly adds: readonly Element[];
}

const NOTHING: readonly Element[] = [];

/** Desired and programmed elements of one table. */
export class RuleBook {
  readonly #claims = new Map<string, Claim[]>();
  readonly #owned = new Map<string, readonly Element[]>();
  readonly #ranks = new Map<string, number>();
  #nextRank = 0;
  /** Believed to be in the kernel. */
  #programmed = new Map<string, Element>();
  #programmedChains = new Set<string>();
  #touched = new Set<string>();

  /** Replaces what an owner claims; nothing for an owner that is gone. */
  replace(owner: string, elements: readonly Element[]): void {
    const before = this.#owned.get(owner) ?? NOTHING;
    const wanted = new Map(elements.map((element) => [idOf(element), element]));
    for (const element of before) if (!wanted.has(idOf(element))) this.#unclaim(owner, element);
    if (wanted.size === 0) {
      this.#owned.delete(owner);
      this.#ranks.delete(owner);
      return;
    }
    let rank = this.#ranks.get(owner);
    if (rank === undefined) this.#ranks.set(owner, (rank = this.#nextRank++));
    for (const [id, element] of wanted) this.#claim(id, { owner, rank, element });
    this.#owned.set(owner, [...wanted.values()]);
  }

  /** Owners that claim something. */
  owners(): IterableIterator<string> {
    return this.#owned.keys();
  }

  get hasChanges(): boolean {
    return this.#touched.size > 0;
  }

  /** The difference to what is programmed. Call `applied` once it is in the kernel, `lost` when that is unknown. */
  takeChanges(): Changes {
    const deletes: Element[] = [];
    const adds: Element[] = [];
    for (const id of this.#touched) {
      const is = this.#programmed.get(id);
      const wanted = this.#claims.get(id)?.[0]?.element;
      if (is?.value === wanted?.value) continue;
      if (is !== undefined) deletes.push(is);
      if (wanted !== undefined) adds.push(wanted);
    }
    this.#touched = new Set();
    return { chains: chainsOf(adds).filter((c) => !this.#programmedChains.has(c.name)), deletes, adds };
  }

  /** Everything that is wanted, for a rewrite of the whole table. */
  takeAll(): Changes & { readonly staleChains: readonly string[] } {
    this.#touched = new Set();
    const adds = [...this.#claims.values()].map((claims) => (claims[0] as Claim).element);
    const chains = chainsOf(adds);
    const needed = new Set(chains.map((c) => c.name));
    return { chains, deletes: [], adds, staleChains: [...this.#programmedChains].filter((name) => !needed.has(name)) };
  }

  /** Notes that the changes are in the kernel. */
  applied(changes: Changes): void {
    for (const element of changes.deletes) this.#programmed.delete(idOf(element));
    for (const element of changes.adds) this.#programmed.set(idOf(element), element);
    for (const chain of changes.chains) this.#programmedChains.add(chain.name);
  }

  /** Notes that the table now holds exactly this. */
  rewritten(all: Changes): void {
    this.#programmed = new Map(all.adds.map((element) => [idOf(element), element]));
    this.#programmedChains = new Set(all.chains.map((c) => c.name));
  }

  #claim(id: string, claim: Claim): void {
    const claims = this.#claims.get(id);
    if (claims === undefined) {
      this.#claims.set(id, [claim]);
      this.#touched.add(id);
      return;
    }
    const own = claims.findIndex((c) => c.owner === claim.owner);
    if (own >= 0) claims[own] = claim;
    else claims.splice(claims.findLastIndex((c) => c.rank < claim.rank) + 1, 0, claim);
    if (claims[0] === claim) this.#touched.add(id);
  }

  #unclaim(owner: string, element: Element): void {
    const id = idOf(element);
    const claims = (this.#claims.get(id) ?? []).filter((c) => c.owner !== owner);
    if (claims.length === 0) this.#claims.delete(id);
    else this.#claims.set(id, claims);
    this.#touched.add(id);
  }
}

function idOf(element: Element): string {
  return `${element.set} ${element.key}`;
}

/** The chains that elements go to, those they need first. */
function chainsOf(elements: readonly Element[]): Chain[] {
  const found = new Map<string, Chain>();
  for (const { chain } of elements) {
    if (chain === undefined || found.has(chain.name)) continue;
    for (const needed of chain.needs) found.set(needed.name, needed);
    found.set(chain.name, chain);
  }
  return [...found.values()];
}

/**
 * Deals each flow a hand of queues, so that two flows rarely have the same hand: a flooding flow fills its own
 * queues, and nearly every other flow has a queue outside them. Upstream: util/shufflesharding. Differs: the hash is
 * FNV-1a with a final mix instead of SHA-256, since it need not be secure.
 */
import { fnv64a } from '../../base/fnv.ts';

const MASK = 0xffff_ffff_ffff_ffffn;

/** 64 well-mixed bits of the flow's name. */
export function hashFlow(schema: string, distinguisher: string): bigint {
  let hash = fnv64a(`${schema}\0${distinguisher}`);
  hash = ((hash ^ (hash >> 33n)) * 0xff51_afd7_ed55_8ccdn) & MASK;
  hash = ((hash ^ (hash >> 33n)) * 0xc4ce_b9fe_1a85_ec53n) & MASK;
  return hash ^ (hash >> 33n);
}

/** `handSize` different numbers below `deckSize`, equal for equal hashes. `handSize` is at most `deckSize`. */
export function dealHand(hash: bigint, deckSize: number, handSize: number): number[] {
  const hand: number[] = [];
  let rest = hash;
  for (let dealt = 0; dealt < handSize; dealt++) {
    const left = BigInt(deckSize - dealt);
    let card = Number(rest % left);
    rest /= left;
    // The index counts undealt cards only: skip the dealt ones in order.
    for (const taken of hand.toSorted((a, b) => a - b)) if (card >= taken) card++;
    hand.push(card);
  }
  return hand;
}

/**
 * Packs endpoints into as few subsets as possible, for both the endpoints of services and those that users write.
 * Upstream: api/v1/endpoints.RepackSubsets.
 */
import type { EndpointAddress, EndpointPort, EndpointSubset } from '../api/gen/core-v1.ts';
import { compareTexts } from '../base/compare-texts.ts';

interface Member {
  readonly address: EndpointAddress;
  readonly ready: boolean;
}
/** Ports with the same addresses. */
export interface Slot {
  readonly ports: readonly EndpointPort[];
  readonly members: Map<string, Member>;
}

/** Puts ports with the very same addresses into one subset. */
export class SubsetPacker {
  readonly #slots: Slot[] = [];
  /** The last address and its key: an address is mostly added to many slots, one after the other. */
  #last: { readonly address: EndpointAddress; readonly key: string } | undefined;

  /** A slot for ports that no other slot has; without ports: for addresses alone. */
  slot(ports: readonly EndpointPort[]): Slot {
    const slot = { ports, members: new Map<string, Member>() };
    this.#slots.push(slot);
    return slot;
  }

  /** Adds an address to a slot. An address that is both ready and not ready counts as not ready. */
  addTo(slot: Slot, address: EndpointAddress, ready: boolean): void {
    if (this.#last?.address !== address)
      this.#last = { address, key: JSON.stringify([address.ip, address.targetRef?.uid]) };
    const member = this.#last.key;
    if (slot.members.get(member)?.ready !== false) slot.members.set(member, { address, ready });
  }

  /** In canonical order. */
  subsets(): EndpointSubset[] {
    const slots = this.#slots;
    if (slots.length === 1) return [subsetOf(slots)];
    const groups = Map.groupBy(slots, ({ members }) =>
      JSON.stringify([...members].map(([key, { ready }]) => `${key}${ready}`).sort()),
    );
    return sortedBy([...groups.values()].map(subsetOf), JSON.stringify);
  }
}

function subsetOf(slots: readonly Slot[]): EndpointSubset {
  const members = [...(slots[0] as Slot).members.values()];
  const addressesOf = (ready: boolean): EndpointAddress[] =>
    sortedBy(
      members.filter((member) => member.ready === ready).map(({ address }) => address),
      ({ ip, targetRef }) => `${ip} ${targetRef?.uid}`,
    );
  const [addresses, notReadyAddresses] = [addressesOf(true), addressesOf(false)];
  const ports = sortedBy(
    slots.flatMap(({ ports: own }) => own),
    portText,
  );
  return {
    ...(addresses.length === 0 ? {} : { addresses }),
    ...(notReadyAddresses.length === 0 ? {} : { notReadyAddresses }),
    ...(ports.length === 0 ? {} : { ports }),
  };
}

function portText(port: EndpointPort): string {
  return `${port.name ?? ''} ${port.protocol} ${port.port}`;
}

/** Sorts by code units of a text that is computed once for each item. */
function sortedBy<T>(list: readonly T[], textOf: (item: T) => string): T[] {
  const keyed = list.map((item) => ({ item, text: textOf(item) }));
  keyed.sort((a, b) => compareTexts(a.text, b.text));
  return keyed.map(({ item }) => item);
}

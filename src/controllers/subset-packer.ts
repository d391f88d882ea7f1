/** Endpoints in as few subsets as can be: what endpoints of services are made of, and what is made of those written by hand. Upstream: api/v1/endpoints.RepackSubsets. */
import type { EndpointAddress, EndpointPort, EndpointSubset } from '../api/gen/core-v1.ts';

interface Member {
  readonly address: EndpointAddress;
  readonly ready: boolean;
}
/** Ports that have their addresses in common. */
export interface Slot {
  readonly ports: readonly EndpointPort[];
  readonly members: Map<string, Member>;
}

/** Puts ports with the very same addresses into one subset. */
export class SubsetPacker {
  readonly #slots: Slot[] = [];

  /** A slot for ports of which no other slot has one; no ports: for addresses without. */
  slot(ports: readonly EndpointPort[]): Slot {
    const slot = { ports, members: new Map<string, Member>() };
    this.#slots.push(slot);
    return slot;
  }

  /** An address is there for a slot's ports. Said both to be ready and not, it is not. */
  addTo(slot: Slot, address: EndpointAddress, ready: boolean): void {
    const member = JSON.stringify([address.ip, address.targetRef?.uid]);
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

/** By the code units of a text, which is made once of each. */
function sortedBy<T>(list: readonly T[], textOf: (item: T) => string): T[] {
  const keyed = list.map((item) => ({ item, text: textOf(item) }));
  keyed.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0));
  return keyed.map(({ item }) => item);
}

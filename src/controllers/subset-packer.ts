/** Endpoints in as few subsets as can be: what endpoints of services are made of, and what is made of those written by hand. Upstream: api/v1/endpoints.RepackSubsets. */
import type { EndpointAddress, EndpointPort, EndpointSubset } from '../api/gen/core-v1.ts';

interface Member {
  readonly address: EndpointAddress;
  readonly ready: boolean;
}
interface Slot {
  readonly port: EndpointPort | undefined;
  readonly members: Map<string, Member>;
}

/** Puts ports with the very same addresses into one subset. */
export class SubsetPacker {
  readonly #slots = new Map<string, Slot>();

  /** An address is there for a port (undefined: for none). Said both to be ready and not, it is not. */
  add(port: EndpointPort | undefined, address: EndpointAddress, ready: boolean): void {
    const key = JSON.stringify(port ?? null);
    let slot = this.#slots.get(key);
    if (slot === undefined) this.#slots.set(key, (slot = { port, members: new Map() }));
    const member = JSON.stringify([address.ip, address.targetRef?.uid]);
    if (slot.members.get(member)?.ready !== false) slot.members.set(member, { address, ready });
  }

  /** In canonical order. */
  subsets(): EndpointSubset[] {
    const groups = Map.groupBy(this.#slots.values(), ({ members }) =>
      JSON.stringify([...members].map(([key, { ready }]) => `${key}${ready}`).sort()),
    );
    return [...groups.values()].map(subsetOf).sort((a, b) => compareText(JSON.stringify(a), JSON.stringify(b)));
  }
}

function subsetOf(slots: readonly Slot[]): EndpointSubset {
  const members = [...(slots[0] as Slot).members.values()];
  const addressesOf = (ready: boolean): EndpointAddress[] =>
    members
      .filter((member) => member.ready === ready)
      .map(({ address }) => address)
      .sort((a, b) => compareText(`${a.ip} ${a.targetRef?.uid}`, `${b.ip} ${b.targetRef?.uid}`));
  const [addresses, notReadyAddresses] = [addressesOf(true), addressesOf(false)];
  const ports = slots
    .map(({ port }) => port)
    .filter((port) => port !== undefined)
    .sort((a, b) => compareText(portText(a), portText(b)));
  return {
    ...(addresses.length === 0 ? {} : { addresses }),
    ...(notReadyAddresses.length === 0 ? {} : { notReadyAddresses }),
    ...(ports.length === 0 ? {} : { ports }),
  };
}

function portText(port: EndpointPort): string {
  return `${port.name ?? ''} ${port.protocol} ${port.port}`;
}

/** By code units. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

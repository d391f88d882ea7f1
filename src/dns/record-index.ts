/** The records of the zone by name and by address, each with the objects that add them. */
import type { BuiltRecords, DnsRecord, RecordSource } from './service-records.ts';

/** An answer of 64 KiB, the longest there is, has no more records. */
export const MAX_RECORDS = 4096;
/** How many records are looked at for the different ones among them. */
const MAX_VISITED = 4 * MAX_RECORDS;

export class RecordIndex {
  readonly #domain: string;
  readonly #byName = new Map<string, Map<object, RecordSource>>();
  /** Names that exist because of names below them, with their number. */
  readonly #parents = new Map<string, number>();
  /** By address the names, each with the number of objects that add it. */
  readonly #byAddress = new Map<string, Map<string, number>>();

  constructor(domain: string) {
    this.#domain = domain;
  }

  /** Replaces what an object adds. */
  replace(owner: object, before: BuiltRecords, after: BuiltRecords): void {
    for (const name of before.names.keys()) if (!after.names.has(name)) this.#remove(owner, name);
    for (const [name, source] of after.names) this.#set(owner, name, source);
    for (const [address, name] of before.addresses) this.#countAddress(address, name, -1);
    for (const [address, name] of after.addresses) this.#countAddress(address, name, 1);
  }

  /** The first {@link MAX_RECORDS} of a type; undefined: the name does not exist. */
  lookup(name: string, type: string): DnsRecord[] | undefined {
    const sources = this.#byName.get(name);
    if (sources === undefined) return this.#parents.has(name) ? [] : undefined;
    const found = new Map<string, DnsRecord>();
    let visited = 0;
    for (const source of sources.values())
      for (const record of source(type)) {
        if (found.size === MAX_RECORDS || ++visited > MAX_VISITED) return [...found.values()];
        const key = JSON.stringify(record);
        if (!found.has(key)) found.set(key, record);
      }
    return [...found.values()];
  }

  reverse(address: string): string[] {
    return (this.#byAddress.get(address)?.keys() ?? [].values()).take(MAX_RECORDS).toArray();
  }

  #set(owner: object, name: string, source: RecordSource): void {
    const sources = this.#byName.get(name);
    if (sources !== undefined) {
      sources.set(owner, source);
      return;
    }
    this.#byName.set(name, new Map([[owner, source]]));
    this.#countParents(name, 1);
  }

  #remove(owner: object, name: string): void {
    const sources = this.#byName.get(name);
    sources?.delete(owner);
    if (sources?.size === 0 && this.#byName.delete(name)) this.#countParents(name, -1);
  }

  #countParents(name: string, by: 1 | -1): void {
    for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
      const parent = name.slice(dot + 1);
      if (parent.length <= this.#domain.length) return;
      const count = (this.#parents.get(parent) ?? 0) + by;
      if (count === 0) this.#parents.delete(parent);
      else this.#parents.set(parent, count);
    }
  }

  #countAddress(address: string, name: string, by: 1 | -1): void {
    const names = this.#byAddress.get(address) ?? new Map<string, number>();
    const count = (names.get(name) ?? 0) + by;
    if (count === 0) names.delete(name);
    else names.set(name, count);
    if (names.size === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, names);
  }
}

/**
 * The names of cluster DNS: services and their endpoints, indexed by name and by address. Pure: built from objects,
 * queried by the resolver. Upstream: the DNS specification for service discovery, as CoreDNS's kubernetes plugin
 * implements it.
 */
import type { Stored } from '../api/object.ts';
import type { Service } from '../api/gen/core-v1.ts';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import { deepEqual } from '../base/equal.ts';
import {
  addressRecord,
  type BuiltRecords,
  type DnsRecord,
  EMPTY,
  podRecords,
  serviceRecords,
} from './service-records.ts';

/** The records for queries. */
export interface Zone {
  readonly domain: string;
  /** Grows with every change of a record. */
  readonly version: number;
  /** Records of exactly this name; undefined when the name does not exist. Empty where only names below it exist. */
  lookup(name: string): readonly DnsRecord[] | undefined;
  /** Names of an address, for PTR queries. */
  reverse(address: string): readonly string[];
}

/** A zone that follows objects. */
export interface MutableZone extends Zone {
  setService(service: Stored<Service>): void;
  removeService(namespace: string, name: string): void;
  setSlice(slice: Stored<EndpointSlice>): void;
  removeSlice(slice: Stored<EndpointSlice>): void;
}

interface ServiceEntry {
  service: Stored<Service> | undefined;
  readonly slices: Map<string, Stored<EndpointSlice>>;
  /** The service's records in the index, for their removal. */
  built: BuiltRecords;
}

const SERVICE_LABEL = 'kubernetes.io/service-name';
const DNS_VERSION = '1.1.0';

/** Creates an empty zone for `domain` (`cluster.local`). `nameservers` are the addresses of `ns.dns.<domain>`. */
export function createZone(domain: string, nameservers: readonly string[] = []): MutableZone {
  const services = new Map<string, ServiceEntry>();
  const index = createRecordIndex(domain);
  const fixed: readonly DnsRecord[] = [
    { type: 'TXT', name: `dns-version.${domain}`, text: DNS_VERSION },
    ...nameservers.map((address) => addressRecord(`ns.dns.${domain}`, address)),
  ];
  index.replace(EMPTY, { records: fixed, addresses: [] });
  let version = 1;

  const rebuild = (key: string): void => {
    const entry = services.get(key);
    if (entry === undefined) return;
    const built =
      entry.service === undefined ? EMPTY : serviceRecords(entry.service, [...entry.slices.values()], domain);
    if (entry.service === undefined && entry.slices.size === 0) services.delete(key);
    // Endpoints of a service with a cluster IP change often, and its records do not.
    if (deepEqual(built, entry.built)) return;
    index.replace(entry.built, built);
    entry.built = built;
    version++;
  };
  const entryOf = (key: string): ServiceEntry => {
    let entry = services.get(key);
    if (entry === undefined) services.set(key, (entry = { service: undefined, slices: new Map(), built: EMPTY }));
    return entry;
  };
  const existsAnyway = new Set([domain, `svc.${domain}`, `pod.${domain}`]);
  return {
    domain,
    get version() {
      return version;
    },
    lookup: (name) => index.lookup(name) ?? podRecords(name, domain) ?? (existsAnyway.has(name) ? [] : undefined),
    reverse: index.reverse,
    setService(service) {
      const key = `${service.metadata.namespace}/${service.metadata.name}`;
      entryOf(key).service = service;
      rebuild(key);
    },
    removeService(namespace, name) {
      const key = `${namespace}/${name}`;
      const entry = services.get(key);
      if (entry === undefined) return;
      entry.service = undefined;
      rebuild(key);
    },
    setSlice(slice) {
      const key = sliceKey(slice);
      if (key === undefined) return;
      entryOf(key).slices.set(slice.metadata.name, slice);
      rebuild(key);
    },
    removeSlice(slice) {
      const key = sliceKey(slice);
      if (key === undefined || !services.has(key)) return;
      entryOf(key).slices.delete(slice.metadata.name);
      rebuild(key);
    },
  };
}

function sliceKey(slice: Stored<EndpointSlice>): string | undefined {
  const name = slice.metadata.labels?.[SERVICE_LABEL];
  return name === undefined ? undefined : `${slice.metadata.namespace}/${name}`;
}

interface RecordIndex {
  /** Replaces a service's records. */
  replace(before: BuiltRecords, after: BuiltRecords): void;
  lookup(name: string): readonly DnsRecord[] | undefined;
  reverse(address: string): readonly string[];
}

function createRecordIndex(domain: string): RecordIndex {
  const byName = new Map<string, DnsRecord[]>();
  /** Names that exist because of names below them, with their number. */
  const parents = new Map<string, number>();
  const byAddress = new Map<string, Set<string>>();
  const countParents = (name: string, by: 1 | -1): void => {
    for (const parent of parentsOf(name, domain)) {
      const count = (parents.get(parent) ?? 0) + by;
      if (count === 0) parents.delete(parent);
      else parents.set(parent, count);
    }
  };
  const add = (record: DnsRecord): void => {
    const list = byName.get(record.name);
    if (list !== undefined) {
      list.push(record);
      return;
    }
    byName.set(record.name, [record]);
    countParents(record.name, 1);
  };
  const removeAll = (records: readonly DnsRecord[]): void => {
    const gone = new Set(records);
    for (const name of new Set(records.map((r) => r.name))) {
      const left = (byName.get(name) ?? []).filter((r) => !gone.has(r));
      if (left.length > 0) byName.set(name, left);
      else if (byName.delete(name)) countParents(name, -1);
    }
  };
  return {
    replace(before, after) {
      removeAll(before.records);
      for (const [address, name] of before.addresses) {
        const names = byAddress.get(address);
        names?.delete(name);
        if (names?.size === 0) byAddress.delete(address);
      }
      after.records.forEach(add);
      for (const [address, name] of after.addresses) {
        const names = byAddress.get(address);
        if (names === undefined) byAddress.set(address, new Set([name]));
        else names.add(name);
      }
    },
    lookup: (name) => byName.get(name) ?? (parents.has(name) ? [] : undefined),
    reverse: (address) => [...(byAddress.get(address) ?? [])],
  };
}

function parentsOf(name: string, domain: string): string[] {
  const parents: string[] = [];
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
    const parent = name.slice(dot + 1);
    if (parent.length <= domain.length) break;
    parents.push(parent);
  }
  return parents;
}

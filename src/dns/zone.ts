/**
 * What cluster DNS knows: services, their endpoints and the names that follow from them, kept as an index by name and by
 * address. Pure: built from objects, asked by the resolver. Upstream: the DNS specification for service discovery, as
 * CoreDNS's kubernetes plugin answers it.
 */
import type { Service } from '../api/gen/core-v1.ts';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';

/** A record of an answer; `name` is the owner's full name without the trailing dot. */
export type DnsRecord =
  | { readonly type: 'A' | 'AAAA'; readonly name: string; readonly address: string }
  | { readonly type: 'CNAME' | 'PTR'; readonly name: string; readonly target: string }
  | { readonly type: 'SRV'; readonly name: string; readonly target: string; readonly port: number }
  | { readonly type: 'TXT'; readonly name: string; readonly text: string };

/** Everything the zone answers. */
export interface Zone {
  readonly domain: string;
  /** Records that own this exact name; undefined when the name does not exist. Empty where only names below it exist. */
  lookup(name: string): readonly DnsRecord[] | undefined;
  /** Names of an address, for PTR queries. */
  reverse(address: string): readonly string[];
}

/** A zone that follows objects. */
export interface MutableZone extends Zone {
  setService(service: Service): void;
  removeService(namespace: string, name: string): void;
  setSlice(slice: EndpointSlice): void;
  removeSlice(slice: EndpointSlice): void;
}

interface ServiceEntry {
  service: Service | undefined;
  readonly slices: Map<string, EndpointSlice>;
  /** What this service put into the index, to take it out again. */
  records: readonly DnsRecord[];
  addresses: readonly (readonly [address: string, name: string])[];
}

const SERVICE_LABEL = 'kubernetes.io/service-name';
const DNS_VERSION = '1.1.0';

/** Creates an empty zone for `domain` (`cluster.local`). */
export function createZone(domain: string): MutableZone {
  const services = new Map<string, ServiceEntry>();
  const byName = new Map<string, DnsRecord[]>();
  /** Names that exist because something exists below them, with how many. */
  const parents = new Map<string, number>();
  const byAddress = new Map<string, Set<string>>();

  const add = (record: DnsRecord): void => {
    const list = byName.get(record.name);
    if (list !== undefined) return void list.push(record);
    byName.set(record.name, [record]);
    for (const parent of parentsOf(record.name, domain)) parents.set(parent, (parents.get(parent) ?? 0) + 1);
  };
  const remove = (record: DnsRecord): void => {
    const left = (byName.get(record.name) ?? []).filter((r) => r !== record);
    if (left.length > 0) return void byName.set(record.name, left);
    byName.delete(record.name);
    for (const parent of parentsOf(record.name, domain)) {
      const count = (parents.get(parent) ?? 1) - 1;
      if (count === 0) parents.delete(parent);
      else parents.set(parent, count);
    }
  };
  const rebuild = (key: string): void => {
    const entry = services.get(key);
    if (entry === undefined) return;
    entry.records.forEach(remove);
    for (const [address, name] of entry.addresses) byAddress.get(address)?.delete(name);
    const { records, addresses } = entry.service === undefined ? { records: [], addresses: [] } : serviceRecords(entry.service, [...entry.slices.values()], domain);
    entry.records = records;
    entry.addresses = addresses;
    records.forEach(add);
    for (const [address, name] of addresses) (byAddress.get(address) ?? byAddress.set(address, new Set()).get(address))?.add(name);
    if (entry.service === undefined && entry.slices.size === 0) services.delete(key);
  };
  const entryOf = (key: string): ServiceEntry => {
    let entry = services.get(key);
    if (entry === undefined) services.set(key, (entry = { service: undefined, slices: new Map(), records: [], addresses: [] }));
    return entry;
  };
  const sliceKey = (slice: EndpointSlice): string | undefined => {
    const name = slice.metadata.labels?.[SERVICE_LABEL];
    return name === undefined ? undefined : `${slice.metadata.namespace}/${name}`;
  };
  return {
    domain,
    lookup: (name) => byName.get(name) ?? (name === `dns-version.${domain}` ? [{ type: 'TXT', name, text: DNS_VERSION }] : undefined) ?? podRecords(name, domain) ?? (parents.has(name) || name === domain || name === `svc.${domain}` || name === `pod.${domain}` ? [] : undefined),
    reverse: (address) => [...(byAddress.get(address) ?? [])],
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
      entryOf(key).slices.set(slice.metadata.name ?? '', slice);
      rebuild(key);
    },
    removeSlice(slice) {
      const key = sliceKey(slice);
      if (key === undefined || !services.has(key)) return;
      entryOf(key).slices.delete(slice.metadata.name ?? '');
      rebuild(key);
    },
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

interface Built {
  readonly records: DnsRecord[];
  readonly addresses: (readonly [string, string])[];
}

/** All records of one service. Exported for its tests. */
export function serviceRecords(service: Service, slices: readonly EndpointSlice[], domain: string): Built {
  const name = `${service.metadata.name}.${service.metadata.namespace}.svc.${domain}`.toLowerCase();
  const spec = service.spec ?? {};
  if (spec.type === 'ExternalName') {
    return { records: [{ type: 'CNAME', name, target: (spec.externalName ?? '').replace(/\.$/, '').toLowerCase() }], addresses: [] };
  }
  const ips = (spec.clusterIPs ?? [spec.clusterIP ?? '']).filter((ip) => ip !== '' && ip !== 'None');
  if (ips.length === 0) return headlessRecords(name, slices);
  const records: DnsRecord[] = ips.map((address) => addressRecord(name, address));
  for (const port of spec.ports ?? []) {
    if ((port.name ?? '') === '') continue;
    records.push({ type: 'SRV', name: srvName(port.name ?? '', port.protocol ?? 'TCP', name), target: name, port: port.port });
  }
  return { records, addresses: ips.map((ip) => [ip, name] as const) };
}

function headlessRecords(name: string, slices: readonly EndpointSlice[]): Built {
  const built: Built = { records: [], addresses: [] };
  const seen = new Set<string>();
  const add = (record: DnsRecord): void => {
    const key = JSON.stringify(record);
    if (seen.has(key)) return;
    seen.add(key);
    built.records.push(record);
  };
  for (const slice of slices) {
    for (const endpoint of slice.endpoints ?? []) {
      if (endpoint.conditions?.ready === false) continue;
      for (const address of endpoint.addresses) {
        const own = `${(endpoint.hostname ?? '') === '' ? address.replaceAll(/[.:]/g, '-') : endpoint.hostname}.${name}`.toLowerCase();
        add(addressRecord(name, address));
        add(addressRecord(own, address));
        built.addresses.push([address, own]);
        for (const port of slice.ports ?? []) {
          if ((port.name ?? '') !== '' && port.port !== undefined) add({ type: 'SRV', name: srvName(port.name ?? '', port.protocol ?? 'TCP', name), target: own, port: port.port });
        }
      }
    }
  }
  return built;
}

function addressRecord(name: string, address: string): DnsRecord {
  return { type: address.includes(':') ? 'AAAA' : 'A', name, address };
}

function srvName(port: string, protocol: string, service: string): string {
  return `_${port}._${protocol}.${service}`.toLowerCase();
}

/** `10-42-0-7.default.pod.cluster.local`: the address is in the name. */
function podRecords(name: string, domain: string): DnsRecord[] | undefined {
  const suffix = `.pod.${domain}`;
  if (!name.endsWith(suffix)) return undefined;
  const [dashed, namespace, ...more] = name.slice(0, -suffix.length).split('.');
  if (dashed === undefined || namespace === undefined || more.length > 0) return undefined;
  const octets = dashed.split('-');
  const isIp = octets.length === 4 && octets.every((o) => /^\d{1,3}$/.test(o) && Number(o) <= 255);
  return isIp ? [{ type: 'A', name, address: octets.join('.') }] : undefined;
}

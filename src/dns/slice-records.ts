/**
 * What a slice of a headless service adds to the zone. A slice has up to 1,000 endpoints and 20,000 ports: their
 * product, the SRV records, is made when somebody asks, as CoreDNS does.
 */
import type { EndpointPort, EndpointSlice } from '../api/gen/discovery-v1.ts';
import { canonicalIp } from './reverse-names.ts';
import {
  addressRecord,
  type BuiltRecords,
  type DnsRecord,
  type RecordSource,
  sourceOf,
  srvName,
} from './service-records.ts';

/**
 * The most addresses of which all are served; of larger slices the first address of each endpoint. What further
 * addresses of an endpoint mean is undefined, and the controllers' slices have none.
 */
const MAX_ADDRESSES = 1000;

interface Target {
  readonly address: string;
  /** The endpoint's own name. */
  readonly name: string;
}

/** The names that a slice adds below the service's name. */
export function sliceRecords(service: string, slice: EndpointSlice): BuiltRecords {
  const targets = targetsOf(service, slice);
  const ports = (slice.ports ?? []).filter(({ port }) => port !== undefined);
  const names = new Map<string, RecordSource>();
  if (targets.length === 0) return { names, addresses: [] };
  const type = slice.addressType === 'IPv6' ? 'AAAA' : 'A';
  const ofService = (asked: string): Iterable<DnsRecord> => [addresses(asked), srv(asked)].values().flatMap((of) => of);
  const addresses = (asked: string): Iterable<DnsRecord> =>
    asked === type || asked === 'ANY' ? targets.values().map(({ address }) => addressRecord(service, address)) : [];
  const srv = (asked: string): Iterable<DnsRecord> =>
    asked === 'SRV' || asked === 'ANY' ? srvRecords(service, targets, ports) : [];
  names.set(service, ofService);
  for (const [name, own] of Map.groupBy(targets, (target) => target.name))
    names.set(name, sourceOf(own.map(({ address }) => addressRecord(name, address))));
  const named = ports.filter(({ name = '' }) => name !== '');
  for (const [name, own] of Map.groupBy(named, (port) => srvName(port.name ?? '', port.protocol ?? 'TCP', service)))
    names.set(name, (asked) => (asked === 'SRV' || asked === 'ANY' ? srvRecords(name, targets, own) : []));
  return { names, addresses: targets.map(({ address, name }) => [canonicalIp(address) ?? address, name] as const) };
}

function targetsOf(service: string, { endpoints = [] }: EndpointSlice): Target[] {
  const ready = endpoints.filter(({ conditions }) => conditions?.ready !== false);
  const count = ready.reduce((sum, { addresses }) => sum + addresses.length, 0);
  return ready.flatMap(({ addresses, hostname = '' }) =>
    (count > MAX_ADDRESSES ? addresses.slice(0, 1) : addresses).map((address) => ({
      address,
      name: `${hostname === '' ? address.replaceAll(/[.:]/g, '-') : hostname}.${service}`.toLowerCase(),
    })),
  );
}

function* srvRecords(name: string, targets: readonly Target[], ports: readonly EndpointPort[]): Generator<DnsRecord> {
  for (const { name: target } of targets)
    for (const { port } of ports) if (port !== undefined) yield { type: 'SRV', name, target, port };
}

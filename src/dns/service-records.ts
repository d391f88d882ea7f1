/** The records of one service, of one of its slices and of pods. Upstream: the DNS specification of Kubernetes. */
import type { Service } from '../api/gen/core-v1.ts';
import { canonicalIp } from './reverse-names.ts';

/** A record of an answer; `name` is the owner's full name without the trailing dot. */
export type DnsRecord =
  | { readonly type: 'A' | 'AAAA'; readonly name: string; readonly address: string }
  | { readonly type: 'CNAME' | 'PTR'; readonly name: string; readonly target: string }
  | { readonly type: 'SRV'; readonly name: string; readonly target: string; readonly port: number }
  | { readonly type: 'TXT'; readonly name: string; readonly text: string };

/** Gives the records of one name that have a type, or all for `ANY`. */
export type RecordSource = (type: string) => Iterable<DnsRecord>;

/** What one object adds to the zone. */
export interface BuiltRecords {
  readonly names: ReadonlyMap<string, RecordSource>;
  /** For PTR queries. */
  readonly addresses: readonly (readonly [address: string, name: string])[];
}

export const EMPTY: BuiltRecords = { names: new Map(), addresses: [] };

/** The source of a fixed list. */
export function sourceOf(records: readonly DnsRecord[]): RecordSource {
  return (type) => records.filter((record) => type === 'ANY' || record.type === type);
}

/** Sources by name of a fixed list. */
export function sourcesOf(records: readonly DnsRecord[]): Map<string, RecordSource> {
  return new Map([...Map.groupBy(records, ({ name }) => name)].map(([name, own]) => [name, sourceOf(own)]));
}

/** The full name of a service. */
export function serviceName({ metadata }: Service, domain: string): string {
  return `${metadata.name}.${metadata.namespace}.svc.${domain}`.toLowerCase();
}

function clusterAddresses({ spec = {} }: Service): string[] {
  return (spec.clusterIPs ?? [spec.clusterIP ?? '']).filter((ip) => ip !== '' && ip !== 'None');
}

/** Whether the service's name stands for its endpoints. */
export function isHeadless(service: Service): boolean {
  return service.spec?.type !== 'ExternalName' && clusterAddresses(service).length === 0;
}

/** What a service that is not headless adds. */
export function serviceRecords(service: Service, domain: string): BuiltRecords {
  const name = serviceName(service, domain);
  const spec = service.spec ?? {};
  if (spec.type === 'ExternalName') {
    const target = (spec.externalName ?? '').replace(/\.$/, '').toLowerCase();
    return { names: sourcesOf([{ type: 'CNAME', name, target }]), addresses: [] };
  }
  const ips = clusterAddresses(service);
  const records: DnsRecord[] = ips.map((address) => addressRecord(name, address));
  for (const { name: port = '', protocol = 'TCP', port: number } of spec.ports ?? []) {
    records.push({ type: 'SRV', name, target: name, port: number });
    if (port !== '') records.push({ type: 'SRV', name: srvName(port, protocol, name), target: name, port: number });
  }
  return { names: sourcesOf(records), addresses: ips.map((ip) => [canonicalIp(ip) ?? ip, name] as const) };
}

/** An A or AAAA record. */
export function addressRecord(name: string, address: string): DnsRecord {
  return { type: address.includes(':') ? 'AAAA' : 'A', name, address };
}

/** The name of a service's named port. */
export function srvName(port: string, protocol: string, service: string): string {
  return `_${port}._${protocol}.${service}`.toLowerCase();
}

/** `10-42-0-7.default.pod.cluster.local`: the address is in the name; the pod need not exist. */
export function podRecords(name: string, domain: string): DnsRecord[] | undefined {
  const suffix = `.pod.${domain}`;
  if (!name.endsWith(suffix)) return undefined;
  const [dashed, namespace, ...more] = name.slice(0, -suffix.length).split('.');
  if (dashed === undefined || namespace === undefined || more.length > 0) return undefined;
  const address = canonicalIp(dashed.replaceAll('-', '.')) ?? canonicalIp(dashed.replaceAll('-', ':'));
  return address === undefined ? undefined : [addressRecord(name, address)];
}

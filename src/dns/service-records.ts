/** The records of one service and of pods. Upstream: the DNS specification of Kubernetes. */
import type { Service } from '../api/gen/core-v1.ts';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import { canonicalIp } from './reverse-names.ts';

/** A record of an answer; `name` is the owner's full name without the trailing dot. */
export type DnsRecord =
  | { readonly type: 'A' | 'AAAA'; readonly name: string; readonly address: string }
  | { readonly type: 'CNAME' | 'PTR'; readonly name: string; readonly target: string }
  | { readonly type: 'SRV'; readonly name: string; readonly target: string; readonly port: number }
  | { readonly type: 'TXT'; readonly name: string; readonly text: string };

export interface BuiltRecords {
  readonly records: readonly DnsRecord[];
  readonly addresses: readonly (readonly [address: string, name: string])[];
}

export const EMPTY: BuiltRecords = { records: [], addresses: [] };

/** All records of one service. */
export function serviceRecords(service: Service, slices: readonly EndpointSlice[], domain: string): BuiltRecords {
  const name = `${service.metadata.name}.${service.metadata.namespace}.svc.${domain}`.toLowerCase();
  const spec = service.spec ?? {};
  if (spec.type === 'ExternalName') {
    return {
      records: [{ type: 'CNAME', name, target: (spec.externalName ?? '').replace(/\.$/, '').toLowerCase() }],
      addresses: [],
    };
  }
  const ips = (spec.clusterIPs ?? [spec.clusterIP ?? '']).filter((ip) => ip !== '' && ip !== 'None');
  if (ips.length === 0) return headlessRecords(name, slices);
  const records: DnsRecord[] = ips.map((address) => addressRecord(name, address));
  for (const port of spec.ports ?? []) {
    records.push({ type: 'SRV', name, target: name, port: port.port });
    if ((port.name ?? '') === '') continue;
    records.push({
      type: 'SRV',
      name: srvName(port.name ?? '', port.protocol ?? 'TCP', name),
      target: name,
      port: port.port,
    });
  }
  return { records, addresses: ips.map((ip) => [canonicalIp(ip) ?? ip, name] as const) };
}

function headlessRecords(name: string, slices: readonly EndpointSlice[]): BuiltRecords {
  const records: DnsRecord[] = [];
  const addresses: (readonly [string, string])[] = [];
  const seen = new Set<string>();
  const add = (record: DnsRecord): void => {
    const key = JSON.stringify(record);
    if (seen.has(key)) return;
    seen.add(key);
    records.push(record);
  };
  for (const slice of slices) {
    for (const endpoint of slice.endpoints ?? []) {
      if (endpoint.conditions?.ready === false) continue;
      for (const address of endpoint.addresses) {
        const own =
          `${(endpoint.hostname ?? '') === '' ? address.replaceAll(/[.:]/g, '-') : endpoint.hostname}.${name}`.toLowerCase();
        add(addressRecord(name, address));
        add(addressRecord(own, address));
        addresses.push([canonicalIp(address) ?? address, own]);
        for (const port of slice.ports ?? []) {
          if (port.port === undefined) continue;
          add({ type: 'SRV', name, target: own, port: port.port });
          if ((port.name ?? '') !== '')
            add({
              type: 'SRV',
              name: srvName(port.name ?? '', port.protocol ?? 'TCP', name),
              target: own,
              port: port.port,
            });
        }
      }
    }
  }
  return { records, addresses };
}

export function addressRecord(name: string, address: string): DnsRecord {
  return { type: address.includes(':') ? 'AAAA' : 'A', name, address };
}

function srvName(port: string, protocol: string, service: string): string {
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

/**
 * Destinations that services and pods may not claim: cluster DNS listens on a local address of the service range, and
 * clients reach the API server at its Service's endpoints. Upstream leaves external IPs to admission
 * (DenyServiceExternalIPs), and its DNS is a Service, whose rules come first.
 */
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import { cidrContains, formatIp, parseCidr, parseIp } from '../base/cidr.ts';

/** Key of the API server's Service. */
export const API_SERVICE = 'default/kubernetes';

/** Whether a destination is reserved. `protocol` is in lower case. */
export type IsReserved = (destination: {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}) => boolean;

/** Reserves the service ranges, separated by commas, and the API server's endpoints. */
export function reservedDestinations(serviceCidr: string, apiSlices: readonly EndpointSlice[]): IsReserved {
  const ranges = serviceCidr.split(',').flatMap((text) => parseCidr(text) ?? []);
  const api = new Set(apiSlices.flatMap(destinationsOf));
  return ({ ip: text, protocol, port }) => {
    const ip = parseIp(text);
    if (ip === undefined) return false;
    return ranges.some((range) => cidrContains(range, ip)) || api.has(`${formatIp(ip)} ${protocol} ${port}`);
  };
}

function destinationsOf({ endpoints = [], ports = [] }: EndpointSlice): string[] {
  return (endpoints ?? []).flatMap(({ addresses }) =>
    addresses.flatMap((address) => {
      const ip = parseIp(address);
      if (ip === undefined) return [];
      return (ports ?? []).map(({ port, protocol }) => `${formatIp(ip)} ${(protocol ?? 'TCP').toLowerCase()} ${port}`);
    }),
  );
}

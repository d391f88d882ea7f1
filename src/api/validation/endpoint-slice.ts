/** Endpoint slices. Upstream: apis/discovery/validation. */
import { parseIp, unmapped } from '../../base/cidr.ts';
import type { Field } from '../field-error.ts';
import type { Endpoint, EndpointSlice } from '../gen/discovery-v1.ts';
import { isDns1123Label, isDns1123Subdomain, isLabelValue, isPortNumber, isQualifiedName } from '../names.ts';
import { validateImmutable } from './common.ts';
import { validateEndpointIp } from './core-small.ts';

const MAX_ENDPOINTS = 1000;
const MAX_PORTS = 20000;
const MAX_ADDRESSES = 100;
const ADDRESS_TYPES = ['FQDN', 'IPv4', 'IPv6'];

function validateAddress(address: string, type: string, field: Field): void {
  const parsed = parseIp(address);
  if (type === 'FQDN') return field.complain(address, isDns1123Subdomain(address));
  const family = type === 'IPv4' ? 4 : 6;
  // One that is mapped is of neither.
  if (parsed?.family !== family || unmapped(parsed) !== parsed)
    return field.invalid(address, `must be an ${type} address`);
  validateEndpointIp(address, field);
}

function validateEndpoint(endpoint: Endpoint, type: string, field: Field): void {
  const addresses = endpoint.addresses ?? [];
  if (addresses.length === 0) field.at('addresses').required(`must contain at least 1 address`);
  else if (addresses.length > MAX_ADDRESSES) field.at('addresses').tooMany(addresses.length, MAX_ADDRESSES);
  for (const [index, address] of addresses.entries()) validateAddress(address, type, field.at('addresses').item(index));
  if (endpoint.nodeName !== undefined)
    field.at('nodeName').complain(endpoint.nodeName, isDns1123Subdomain(endpoint.nodeName));
  for (const [key, value] of Object.entries(endpoint.deprecatedTopology ?? {})) {
    field.at('deprecatedTopology').complain(key, isQualifiedName(key));
    field.at('deprecatedTopology').key(key).complain(value, isLabelValue(value));
  }
  if (endpoint.hostname !== undefined)
    field.at('hostname').complain(endpoint.hostname, isDns1123Label(endpoint.hostname));
  for (const [index, zone] of (endpoint.hints?.forZones ?? []).entries()) {
    field.at('hints').at('forZones').item(index).at('name').complain(zone.name, isLabelValue(zone.name));
  }
}

export function validateEndpointSlice(slice: EndpointSlice, field: Field): void {
  if ((slice.addressType ?? '') === '') field.at('addressType').required();
  else if (!ADDRESS_TYPES.includes(slice.addressType))
    field.at('addressType').notSupported(slice.addressType, ADDRESS_TYPES);
  const endpoints = slice.endpoints ?? [];
  if (endpoints.length > MAX_ENDPOINTS) field.at('endpoints').tooMany(endpoints.length, MAX_ENDPOINTS);
  for (const [index, endpoint] of endpoints.entries())
    validateEndpoint(endpoint, slice.addressType, field.at('endpoints').item(index));
  const ports = slice.ports ?? [];
  if (ports.length > MAX_PORTS) return field.at('ports').tooMany(ports.length, MAX_PORTS);
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const place = field.at('ports').item(index);
    const name = port.name ?? '';
    if (name.length > 0) place.at('name').complain(name, isDns1123Label(name));
    if (names.has(name)) place.at('name').duplicate(name);
    names.add(name);
    if (port.protocol === undefined) place.at('protocol').required();
    else if (!['SCTP', 'TCP', 'UDP'].includes(port.protocol))
      place.at('protocol').notSupported(port.protocol, ['SCTP', 'TCP', 'UDP']);
    if (port.port !== undefined) place.at('port').complain(port.port, isPortNumber(port.port));
    if (port.appProtocol !== undefined)
      place.at('appProtocol').complain(port.appProtocol, isQualifiedName(port.appProtocol));
  }
}

/** The kind of addresses never changes. */
export function validateEndpointSliceUpdate(slice: EndpointSlice, old: EndpointSlice, field: Field): void {
  validateEndpointSlice(slice, field);
  validateImmutable(slice.addressType, old.addressType, field.at('addressType'));
}

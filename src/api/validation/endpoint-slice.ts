/** Validation of endpoint slices. Upstream: apis/discovery/validation. */
import { parseIp } from '../../base/cidr.ts';
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type { Endpoint, EndpointPort, EndpointSlice } from '../gen/discovery-v1.ts';
import { isDns1123Label, isDns1123Subdomain, isLabelValue, isQualifiedName } from '../names.ts';
import { isPortNumber } from '../value-formats.ts';
import { validateImmutable } from './common.ts';
import { validateEndpointIp } from './core-small.ts';
import { validateCanonicalIp, validateIp } from './ip-fields.ts';

const MAX_ENDPOINTS = 1000;
const MAX_PORTS = 20000;
const MAX_ADDRESSES = 100;
const MAX_HINTS = 8;
const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];
const ADDRESS_TYPES = ['FQDN', 'IPv4', 'IPv6'];

function validateFqdn(address: string, field: Field): void {
  if (address === '') return field.required();
  const name = address.replace(/\.$/, '');
  const problems = isDns1123Subdomain(name);
  if (problems.length > 0) return field.invalid(name, problems.join(','));
  const labels = name.split('.');
  if (labels.length < 2) return field.invalid(name, 'should be a domain with at least two segments separated by dots');
  const wrong = labels.find((label) => isDns1123Label(label).length > 0);
  if (wrong !== undefined) field.invalid(wrong, isDns1123Label(wrong).join(','));
}

/** Addresses of unknown types are not checked. The first field is that of the list of addresses. */
function validateAddress(address: string, type: string, [place, field]: readonly [Field, Field]): void {
  if (type === 'FQDN') return validateFqdn(address, field);
  if (type !== 'IPv4' && type !== 'IPv6') return;
  const before = field.errors.length;
  if (type === 'IPv4') validateIp(address, field);
  else validateCanonicalIp(address, field);
  if (field.errors.length > before) return;
  if (parseIp(address)?.family !== (type === 'IPv4' ? 4 : 6)) place.invalid(address, `must be an ${type} address`);
  validateEndpointIp(address, field);
}

/** Names of hints must be valid and unique. */
function validateHintNames(
  names: readonly { readonly name?: string }[] | undefined,
  check: (name: string) => string[],
  field: Field,
): void {
  const seen = new Set<string>();
  if ((names ?? []).length > MAX_HINTS) return field.tooMany(names!.length, MAX_HINTS);
  for (const [index, { name = '' }] of (names ?? []).entries()) {
    const place = field.item(index).at('name');
    if (seen.has(name)) place.duplicate(name);
    seen.add(name);
    place.complain(name, check(name));
  }
}

function validateEndpoint(endpoint: Endpoint, type: string, field: Field): void {
  const addresses = endpoint.addresses ?? [];
  if (addresses.length === 0) field.at('addresses').required(`must contain at least 1 address`);
  else if (addresses.length > MAX_ADDRESSES) field.at('addresses').tooMany(addresses.length, MAX_ADDRESSES);
  for (const [index, address] of addresses.entries())
    validateAddress(address, type, [field.at('addresses'), field.at('addresses').item(index)]);
  if (endpoint.nodeName !== undefined)
    field.at('nodeName').complain(endpoint.nodeName, isDns1123Subdomain(endpoint.nodeName));
  if (endpoint.hostname !== undefined)
    field.at('hostname').complain(endpoint.hostname, isDns1123Label(endpoint.hostname));
  validateHintNames(endpoint.hints?.forZones, isLabelValue, field.at('hints').at('forZones'));
  validateHintNames(endpoint.hints?.forNodes, isDns1123Subdomain, field.at('hints').at('forNodes'));
}

function validatePorts(ports: readonly EndpointPort[], field: Field): void {
  if (ports.length > MAX_PORTS) return field.tooMany(ports.length, MAX_PORTS);
  const names = new Set<string>();
  for (const [index, { name = '', protocol, port, appProtocol }] of ports.entries()) {
    const place = field.item(index);
    if (name.length > 0) place.at('name').complain(name, isDns1123Label(name));
    if (names.has(name)) place.at('name').duplicate(name);
    names.add(name);
    if (protocol === undefined) place.at('protocol').required();
    else if (!PROTOCOLS.includes(protocol)) place.at('protocol').notSupported(protocol, PROTOCOLS);
    // Upstream accepts any number, although its proxies fail on it.
    if (port !== undefined) place.at('port').complain(port, isPortNumber(port));
    if (appProtocol !== undefined) place.at('appProtocol').complain(appProtocol, isQualifiedName(appProtocol));
  }
}

function validateEndpoints({ endpoints = [], addressType = '' }: EndpointSlice, field: Field): void {
  if (endpoints.length > MAX_ENDPOINTS) return field.tooMany(endpoints.length, MAX_ENDPOINTS);
  for (const [index, endpoint] of endpoints.entries()) validateEndpoint(endpoint, addressType, field.item(index));
}

/** `old`: the slice before an update; unchanged endpoints are not checked. */
export function validateEndpointSlice(slice: EndpointSlice, field: Field, old?: EndpointSlice): void {
  const { addressType = '' } = slice;
  if (addressType === '') field.at('addressType').required();
  else if (!ADDRESS_TYPES.includes(addressType)) field.at('addressType').notSupported(addressType, ADDRESS_TYPES);
  validatePorts(slice.ports ?? [], field.at('ports'));
  if (old === undefined || !deepEqual(slice.endpoints, old.endpoints)) validateEndpoints(slice, field.at('endpoints'));
}

/** The address type is immutable. */
export function validateEndpointSliceUpdate(slice: EndpointSlice, old: EndpointSlice, field: Field): void {
  validateEndpointSlice(slice, field, old);
  validateImmutable(slice.addressType ?? '', old.addressType, field.at('addressType'));
}

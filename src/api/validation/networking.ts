/** Network policies, IP addresses, service ranges. Upstream: apis/networking/validation. */
import { cidrContains, formatIp, parseCidr, parseIp } from '../../base/cidr.ts';
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type {
  IPAddress,
  IPBlock,
  NetworkPolicy,
  NetworkPolicyPeer,
  NetworkPolicyPort,
  ServiceCIDR,
} from '../gen/networking-v1.ts';
import { inclusiveRangeText, isDns1123Label } from '../names.ts';
import { validateImmutable, validateLabelSelector, validateOptionalChoice, validatePortNumOrName } from './common.ts';
import { validateCanonicalCidr, validateCidr } from './ip-fields.ts';

function validatePort(port: NetworkPolicyPort, field: Field): void {
  validateOptionalChoice(port.protocol, ['SCTP', 'TCP', 'UDP'], field.at('protocol'));
  if (port.port !== undefined) validatePortNumOrName(port.port, field.at('port'));
  if (port.endPort === undefined) return;
  if (port.port === undefined) return field.at('endPort').required('may not be specified when `port` is not specified');
  if (typeof port.port === 'string')
    return field.at('endPort').required('may not be specified when `port` is non-numeric');
  if (port.endPort < port.port) field.at('endPort').invalid(port.endPort, 'must be greater than or equal to `port`');
  if (port.endPort < 0 || port.endPort > 65535) field.at('endPort').invalid(port.endPort, inclusiveRangeText(0, 65535));
}

function validateIpBlock(block: IPBlock, field: Field): void {
  if ((block.cidr ?? '') === '') return field.at('cidr').required();
  validateCidr(block.cidr, field.at('cidr'));
  const range = parseCidr(block.cidr);
  for (const [index, text] of (block.except ?? []).entries()) {
    const place = field.at('except').item(index);
    validateCidr(text, place);
    const inner = parseCidr(text);
    if (range === undefined || inner === undefined) continue;
    const strict =
      cidrContains(range, { family: inner.family, value: inner.base }) && inner.prefixLength > range.prefixLength;
    if (!strict) place.invalid(text, 'must be a strict subset of `cidr`');
  }
}

function validatePeer(peer: NetworkPolicyPeer, field: Field): void {
  if (peer.podSelector !== undefined) validateLabelSelector(peer.podSelector, field.at('podSelector'));
  if (peer.namespaceSelector !== undefined)
    validateLabelSelector(peer.namespaceSelector, field.at('namespaceSelector'));
  if (peer.ipBlock !== undefined) validateIpBlock(peer.ipBlock, field.at('ipBlock'));
  const selects = peer.podSelector !== undefined || peer.namespaceSelector !== undefined;
  if (!selects && peer.ipBlock === undefined) field.required('must specify a peer');
  else if (selects && peer.ipBlock !== undefined) field.forbidden('may not specify both ipBlock and another peer');
}

export function validateNetworkPolicy(policy: NetworkPolicy, field: Field): void {
  const spec = field.at('spec');
  validateLabelSelector(policy.spec?.podSelector, spec.at('podSelector'));
  for (const [index, rule] of (policy.spec?.ingress ?? []).entries()) {
    const place = spec.at('ingress').item(index);
    for (const [at, port] of (rule.ports ?? []).entries()) validatePort(port, place.at('ports').item(at));
    for (const [at, peer] of (rule.from ?? []).entries()) validatePeer(peer, place.at('from').item(at));
  }
  for (const [index, rule] of (policy.spec?.egress ?? []).entries()) {
    const place = spec.at('egress').item(index);
    for (const [at, port] of (rule.ports ?? []).entries()) validatePort(port, place.at('ports').item(at));
    for (const [at, peer] of (rule.to ?? []).entries()) validatePeer(peer, place.at('to').item(at));
  }
  const types = policy.spec?.policyTypes ?? [];
  if (types.length > 2) return spec.at('policyTypes').invalid(types, 'may not specify more than two policyTypes');
  for (const [index, type] of types.entries())
    validateOptionalChoice(type, ['Egress', 'Ingress'], spec.at('policyTypes').item(index));
}

/** An address object: its name is the canonical address. */
export function validateIPAddress(address: IPAddress, field: Field): void {
  const name = address.metadata.name ?? '';
  const parsed = parseIp(name);
  if (parsed === undefined) field.at('metadata').at('name').invalid(name, 'must be a valid IP address');
  else if (formatIp(parsed) !== name)
    field
      .at('metadata')
      .at('name')
      .invalid(name, `must be in canonical form ("${formatIp(parsed)}")`);
  const parent = field.at('spec').at('parentRef');
  const { resource = '', name: parentName = '', namespace = '' } = address.spec?.parentRef ?? {};
  if (resource === '') parent.at('resource').required();
  if (parentName === '') parent.at('name').required();
  if (namespace !== '') parent.at('namespace').complain(namespace, isDns1123Label(namespace));
}

/** Whose an address is never changes. */
export function validateIPAddressUpdate(address: IPAddress, old: IPAddress, field: Field): void {
  validateImmutable(address.spec?.parentRef, old.spec?.parentRef, field.at('spec').at('parentRef'));
}

export function validateServiceCIDR(range: ServiceCIDR, field: Field): void {
  const cidrs = range.spec?.cidrs ?? [];
  const place = field.at('spec').at('cidrs');
  if (cidrs.length === 0) return place.required('at least one CIDR required');
  if (cidrs.length > 2) place.invalid(cidrs, 'must only hold 2 values');
  const families = cidrs.map((cidr) => parseCidr(cidr)?.family);
  if (cidrs.length === 2 && families[0] !== undefined && families[0] === families[1])
    place.invalid(cidrs, 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64');
  for (const [index, cidr] of cidrs.entries()) validateCanonicalCidr(cidr, place.item(index));
}

/** A range gains a second family at most. */
export function validateServiceCIDRUpdate(range: ServiceCIDR, old: ServiceCIDR, field: Field): void {
  const [cidrs, before] = [range.spec?.cidrs ?? [], old.spec?.cidrs ?? []];
  if (before.length === 1 && cidrs.length === 2 && cidrs[0] === before[0]) return validateServiceCIDR(range, field);
  if (!deepEqual(cidrs, before)) field.at('spec').at('cidrs').invalid(cidrs, 'field is immutable');
}

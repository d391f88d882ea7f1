/** Validation of network policies, IP addresses and service CIDRs. Upstream: apis/networking/validation. */
import { cidrContains, parseCidr } from '../../base/cidr.ts';
import { Field, renderValue } from '../field-error.ts';
import type {
  IPAddress,
  IPBlock,
  NetworkPolicy,
  NetworkPolicyPeer,
  NetworkPolicyPort,
  ServiceCIDR,
  ServiceCIDRSpec,
} from '../gen/networking-v1.ts';
import { FIELD_IMMUTABLE_TEXT } from '../meta-validation.ts';
import { isDns1123Subdomain, isPathSegmentName } from '../names.ts';
import { isPortNumber } from '../value-formats.ts';
import { validateImmutableStruct, validateOptionalChoice, validatePortNumOrName } from './common.ts';
import { internalForm } from './internal-form.ts';
import { validateCanonicalCidr, validateCanonicalIp, validatedCidr } from './ip-fields.ts';
import { validateLabelSelector } from './selectors.ts';

function validatePort(port: NetworkPolicyPort, field: Field): void {
  validateOptionalChoice(port.protocol, ['TCP', 'UDP', 'SCTP'], field.at('protocol'));
  const place = field.at('endPort');
  if (port.endPort !== undefined && typeof port.port === 'string')
    place.invalid(port.endPort, 'may not be specified when `port` is non-numeric');
  if (port.port !== undefined) validatePortNumOrName(port.port, field.at('port'));
  if (port.endPort === undefined || typeof port.port === 'string') return;
  if (port.port === undefined) return place.invalid(port.endPort, 'may not be specified when `port` is not specified');
  // As upstream, the error quotes the port.
  if (port.endPort < port.port) place.invalid(port.port, 'must be greater than or equal to `port`');
  place.complain(port.endPort, isPortNumber(port.endPort));
}

function validateIpBlock(block: IPBlock, field: Field): void {
  if ((block.cidr ?? '') === '') return field.at('cidr').required();
  const range = validatedCidr(block.cidr, field.at('cidr'));
  if (range === undefined) return;
  for (const [index, text] of (block.except ?? []).entries()) {
    const place = field.at('except').item(index);
    const inner = validatedCidr(text, place);
    if (inner === undefined) continue;
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
    validateOptionalChoice(type, ['Ingress', 'Egress'], spec.at('policyTypes').item(index));
}

/** The name of an IPAddress must be the canonical address. */
export function nameOfAddress(name: string): string[] {
  const place = Field.named('');
  validateCanonicalIp(name, place);
  return place.errors.map(({ text }) => text.slice(`Invalid value: ${renderValue(name)}: `.length));
}

/** Validates the reference of an IPAddress to its owner. */
export function validateIPAddress({ spec }: IPAddress, field: Field): void {
  const place = field.at('spec').at('parentRef');
  if (spec?.parentRef === undefined) return place.required();
  const { group = '', namespace = '' } = spec.parentRef;
  if (group !== '') place.at('group').complain(group, isDns1123Subdomain(group));
  for (const name of ['resource', 'name'] as const) {
    const { [name]: text = '' } = spec.parentRef;
    if (text === '') place.at(name).required();
    else place.at(name).complain(text, isPathSegmentName(text));
  }
  if (namespace !== '') place.at('namespace').complain(namespace, isPathSegmentName(namespace));
}

/** The owner of an address is immutable. */
export function validateIPAddressUpdate(address: IPAddress, old: IPAddress, field: Field): void {
  validateIPAddress(address, field);
  const parents = [address.spec?.parentRef, old.spec?.parentRef] as const;
  validateImmutableStruct(parents, 'networking.v1.ParentReference', field.at('spec').at('parentRef'));
}

function validateRanges({ cidrs = [] }: ServiceCIDRSpec, field: Field): void {
  if (cidrs.length === 0) return field.required('at least one CIDR required');
  // As upstream, the error quotes the spec.
  if (cidrs.length > 2)
    return field.invalid(internalForm({ cidrs }, 'networking.v1.ServiceCIDRSpec'), 'may only hold up to 2 values');
  for (const [index, cidr] of cidrs.entries()) validateCanonicalCidr(cidr, field.item(index));
  const families = cidrs.map((cidr) => parseCidr(cidr)?.family);
  if (cidrs.length === 2 && families[0] !== undefined && families[0] === families[1])
    field.invalid(cidrs, 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64');
}

export function validateServiceCIDR(range: ServiceCIDR, field: Field): void {
  validateRanges(range.spec ?? {}, field.at('spec').at('cidrs'));
}

/** An update may only add a range of the other family. */
export function validateServiceCIDRUpdate(range: ServiceCIDR, old: ServiceCIDR, field: Field): void {
  const [cidrs, before] = [range.spec?.cidrs ?? [], old.spec?.cidrs ?? []];
  const place = field.at('spec').at('cidrs');
  const gains = before.length === 1 && cidrs.length === 2;
  if (cidrs.length !== before.length && !gains) return place.invalid(cidrs, FIELD_IMMUTABLE_TEXT);
  for (const [index, cidr] of before.entries())
    if (cidr !== cidrs[index]) place.item(index).invalid(cidrs[index], FIELD_IMMUTABLE_TEXT);
  if (gains) validateRanges(range.spec!, place);
}

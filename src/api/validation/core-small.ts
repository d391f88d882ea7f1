/** Validation of namespaces, endpoints and pod templates. Upstream: apis/core/validation. */
import type { Steps } from '../../base/steps.ts';
import { deepEqual } from '../../base/equal.ts';
import { cidrContains, parseCidr, parseIp, unmapped } from '../../base/cidr.ts';
import type { Field } from '../field-error.ts';
import type { EndpointAddress, Endpoints, EndpointSubset, Namespace, PodTemplate } from '../gen/core-v1.ts';
import { isDns1123Label, isDns1123Subdomain, isQualifiedName } from '../names.ts';
import { isPortNumber } from '../value-formats.ts';
import { validateChoice } from './common.ts';
import { validateIp } from './ip-fields.ts';
import { validatePodTemplateSpec } from './pod-template.ts';

/** Validates a namespace's finalizers. */
export function validateNamespaceSpec(namespace: Namespace, field: Field): void {
  for (const finalizer of namespace.spec?.finalizers ?? []) {
    const place = field.at('spec').at('finalizers');
    place.complain(finalizer, isQualifiedName(finalizer));
    if (!finalizer.includes('/') && finalizer !== 'kubernetes')
      place.invalid(finalizer, 'name is neither a standard finalizer name nor is it fully qualified');
  }
}

/** The phase must match the presence of a deletion timestamp. */
export function validateNamespaceStatusUpdate(namespace: Namespace, _old: Namespace, field: Field): void {
  const phase = namespace.status?.phase ?? '';
  const place = field.at('status').at('Phase');
  if (namespace.metadata.deletionTimestamp === undefined) {
    if (phase !== 'Active') place.invalid(phase, "may only be 'Active' if `deletionTimestamp` is empty");
  } else if (phase !== 'Terminating') {
    place.invalid(phase, "may only be 'Terminating' if `deletionTimestamp` is not empty");
  }
}

/** Refuses addresses that no endpoint can have. */
export function validateEndpointIp(ip: string, field: Field): void {
  const parsed = parseIp(ip);
  if (parsed === undefined) return field.invalid(ip, 'must be a valid IP address');
  const meant = unmapped(parsed);
  if (meant.value === 0n) field.invalid(ip, `may not be unspecified (${ip.toLowerCase()})`);
  for (const [name, shown, ranges] of localRanges)
    if (ranges.some((range) => cidrContains(range, meant)))
      field.invalid(ip, `may not be in the ${name} range (${shown})`);
}

/** The name of the address range, upstream's text, and its meaning. */
const localRanges = [
  ['loopback', '127.0.0.0/8, ::1/128', ['127.0.0.0/8', '::1/128']],
  ['link-local', '169.254.0.0/16, fe80::/10', ['169.254.0.0/16', 'fe80::/10']],
  ['link-local multicast', '224.0.0.0/24, ff02::/10', ['224.0.0.0/24', 'ff02::/16']],
].map(([name, shown, ranges]) => [name, shown, (ranges as string[]).map((range) => parseCidr(range)!)] as const);

function validateEndpointAddress(address: EndpointAddress, field: Field): void {
  validateIp(address.ip ?? '', field.at('ip'));
  if ((address.hostname ?? '') !== '')
    field.at('hostname').complain(address.hostname, isDns1123Label(address.hostname!));
  if (address.nodeName !== undefined)
    field.at('nodeName').complain(address.nodeName, isDns1123Subdomain(address.nodeName));
  validateEndpointIp(address.ip ?? '', field.at('ip'));
}

function validateSubset(subset: EndpointSubset, field: Field): void {
  const { addresses = [], notReadyAddresses = [], ports = [] } = subset;
  if (addresses.length === 0 && notReadyAddresses.length === 0)
    field.required('must specify `addresses` or `notReadyAddresses`');
  for (const [index, address] of addresses.entries())
    validateEndpointAddress(address, field.at('addresses').item(index));
  for (const [index, address] of notReadyAddresses.entries())
    validateEndpointAddress(address, field.at('notReadyAddresses').item(index));
  for (const [index, port] of ports.entries()) {
    const place = field.at('ports').item(index);
    if (ports.length > 1 && (port.name ?? '') === '') place.at('name').required();
    else if ((port.name ?? '') !== '') place.at('name').complain(port.name, isDns1123Label(port.name!));
    place.at('port').complain(port.port, isPortNumber(port.port));
    validateChoice(port.protocol, ['SCTP', 'TCP', 'UDP'], place.at('protocol'));
    if (port.appProtocol !== undefined)
      place.at('appProtocol').complain(port.appProtocol, isQualifiedName(port.appProtocol));
  }
}

/** Validates an update of endpoints; addresses that were stored before are not checked again. */
export function validateEndpointsUpdate(endpoints: Endpoints, old: Endpoints, field: Field): void {
  if (!deepEqual(endpoints.subsets ?? [], old.subsets ?? [])) validateEndpoints(endpoints, field);
}

export function validateEndpoints(endpoints: Endpoints, field: Field): void {
  for (const [index, subset] of (endpoints.subsets ?? []).entries())
    validateSubset(subset, field.at('subsets').item(index));
}

/** Validates a PodTemplate object. */
export function* validatePodTemplate(template: PodTemplate, field: Field): Steps<void> {
  if (template.template !== undefined) yield* validatePodTemplateSpec(template.template, field.at('template'));
}

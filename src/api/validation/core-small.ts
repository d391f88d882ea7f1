/** Namespaces, endpoints, limit ranges and pod templates. Upstream: apis/core/validation. */
import { cidrContains, parseCidr, parseIp, unmapped } from '../../base/cidr.ts';
import type { Field } from '../field-error.ts';
import type {
  EndpointAddress,
  Endpoints,
  EndpointSubset,
  LimitRange,
  LimitRangeItem,
  Namespace,
  PodTemplate,
} from '../gen/core-v1.ts';
import { isDns1123Label, isPortNumber, isQualifiedName } from '../names.ts';
import { compareQuantities, quantityAsFloat, tryParseQuantity } from '../quantity.ts';
import { validateChoice } from './common.ts';
import { validateIp } from './ip-fields.ts';
import { validatePodTemplateSpec } from './pod-template.ts';

/** A namespace's finalizers. */
export function validateNamespaceSpec(namespace: Namespace, field: Field): void {
  for (const finalizer of namespace.spec?.finalizers ?? []) {
    const place = field.at('spec').at('finalizers');
    place.complain(finalizer, isQualifiedName(finalizer));
    if (!finalizer.includes('/') && finalizer !== 'kubernetes')
      place.invalid(finalizer, 'name is neither a standard finalizer name nor is it fully qualified');
  }
}

/** Phase follows deletion. */
export function validateNamespaceStatusUpdate(namespace: Namespace, _old: Namespace, field: Field): void {
  const phase = namespace.status?.phase ?? '';
  const place = field.at('status').at('Phase');
  if (namespace.metadata.deletionTimestamp === undefined) {
    if (phase !== 'Active') place.invalid(phase, "may only be 'Active' if `deletionTimestamp` is empty");
  } else if (phase !== 'Terminating') {
    place.invalid(phase, "may only be 'Terminating' if `deletionTimestamp` is not empty");
  }
}

/** Addresses that never are endpoints; what is no address is not looked at. */
export function validateEndpointIp(ip: string, field: Field): void {
  const parsed = parseIp(ip);
  if (parsed === undefined) return;
  const meant = unmapped(parsed);
  if (meant.value === 0n) field.invalid(ip, `may not be unspecified (${ip.toLowerCase()})`);
  for (const [name, shown, ranges] of localRanges)
    if (ranges.some((range) => cidrContains(range, meant)))
      field.invalid(ip, `may not be in the ${name} range (${shown})`);
}

/** Name, upstream's text, and what it stands for. */
const localRanges = [
  ['loopback', '127.0.0.0/8, ::1/128', ['127.0.0.0/8', '::1/128']],
  ['link-local', '169.254.0.0/16, fe80::/10', ['169.254.0.0/16', 'fe80::/10']],
  ['link-local multicast', '224.0.0.0/24, ff02::/10', ['224.0.0.0/24', 'ff02::/16']],
].map(([name, shown, ranges]) => [name, shown, (ranges as string[]).map((range) => parseCidr(range)!)] as const);

function validateEndpointAddress(address: EndpointAddress, field: Field): void {
  validateIp(address.ip ?? '', field.at('ip'));
  if ((address.hostname ?? '') !== '')
    field.at('hostname').complain(address.hostname, isDns1123Label(address.hostname!));
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
    validateChoice(port.protocol, ['TCP', 'UDP', 'SCTP'], place.at('protocol'));
    if (port.appProtocol !== undefined)
      place.at('appProtocol').complain(port.appProtocol, isQualifiedName(port.appProtocol));
  }
}

/** Endpoints. */
export function validateEndpoints(endpoints: Endpoints, field: Field): void {
  for (const [index, subset] of (endpoints.subsets ?? []).entries())
    validateSubset(subset, field.at('subsets').item(index));
}

/** A pod template object. */
export function validatePodTemplate(template: PodTemplate, field: Field): void {
  if (template.template !== undefined) validatePodTemplateSpec(template.template, field.at('template'));
}

const LIMIT_TYPES = ['Container', 'Pod', 'PersistentVolumeClaim'] as const;

function isGreater(a: string | undefined, b: string | undefined): boolean {
  return tryParseQuantity(a) !== undefined && tryParseQuantity(b) !== undefined && compareQuantities(a!, b!) > 0;
}

function validateLimit(limit: LimitRangeItem, field: Field): void {
  if (limit.type === 'Pod') {
    if (Object.keys(limit.default ?? {}).length > 0)
      field.at('default').forbidden("may not be specified when `type` is 'Pod'");
    if (Object.keys(limit.defaultRequest ?? {}).length > 0)
      field.at('defaultRequest').forbidden("may not be specified when `type` is 'Pod'");
  }
  if (
    limit.type === 'PersistentVolumeClaim' &&
    limit.min?.['storage'] === undefined &&
    limit.max?.['storage'] === undefined
  ) {
    field.required('either minimum or maximum storage value is required, but neither was provided');
  }
  const names = new Set(
    [limit.max, limit.min, limit.default, limit.defaultRequest, limit.maxLimitRequestRatio].flatMap((list) =>
      Object.keys(list ?? {}),
    ),
  );
  for (const name of names) validateLimitResource(limit, name, field);
}

function validateLimitResource(limit: LimitRangeItem, name: string, field: Field): void {
  const [min, max] = [limit.min?.[name], limit.max?.[name]];
  const [standard, request, ratio] = [
    limit.default?.[name],
    limit.defaultRequest?.[name],
    limit.maxLimitRequestRatio?.[name],
  ];
  if (isGreater(min, max)) field.at('min').key(name).invalid(min, `min value ${min} is greater than max value ${max}`);
  if (isGreater(min, request))
    field
      .at('defaultRequest')
      .key(name)
      .invalid(request, `min value ${min} is greater than default request value ${request}`);
  if (isGreater(request, max))
    field
      .at('defaultRequest')
      .key(name)
      .invalid(request, `default request value ${request} is greater than max value ${max}`);
  if (isGreater(request, standard))
    field
      .at('defaultRequest')
      .key(name)
      .invalid(request, `default request value ${request} is greater than default limit value ${standard}`);
  if (isGreater(min, standard))
    field.at('default').key(name).invalid(standard, `min value ${min} is greater than default value ${standard}`);
  if (isGreater(standard, max))
    field.at('default').key(name).invalid(standard, `default value ${standard} is greater than max value ${max}`);
  if (ratio !== undefined && isGreater('1', ratio))
    field.at('maxLimitRequestRatio').key(name).invalid(ratio, `ratio ${ratio} is less than 1`);
  if (
    ratio !== undefined &&
    min !== undefined &&
    max !== undefined &&
    tryParseQuantity(min) !== undefined &&
    tryParseQuantity(max) !== undefined
  ) {
    const most = quantityAsFloat(max) / quantityAsFloat(min);
    if (quantityAsFloat(ratio) > most)
      field
        .at('maxLimitRequestRatio')
        .key(name)
        .invalid(ratio, `ratio ${ratio} is greater than max/min = ${most.toFixed(6)}`);
  }
}

/** A limit range. */
export function validateLimitRange(range: LimitRange, field: Field): void {
  const seen = new Set<string>();
  for (const [index, limit] of (range.spec?.limits ?? []).entries()) {
    const place = field.at('spec').at('limits').item(index);
    if (!(LIMIT_TYPES as readonly string[]).includes(limit.type))
      place.at('type').complain(limit.type, isQualifiedName(limit.type));
    if (seen.has(limit.type)) place.at('type').duplicate(limit.type);
    seen.add(limit.type);
    validateLimit(limit, place);
  }
}

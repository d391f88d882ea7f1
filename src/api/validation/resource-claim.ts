/** Claims of devices, their templates and statuses, and classes. Upstream: apis/resource/validation. */
import { stableStringify } from '../../base/stable-json.ts';
import { quote } from '../../base/go-quote.ts';
import type { Field } from '../field-error.ts';
import type {
  AllocatedDeviceStatus,
  AllocationResult,
  DeviceClaim,
  DeviceClass,
  DeviceConstraint,
  DeviceRequest,
  DeviceRequestAllocationResult,
  DeviceSubRequest,
  ExactDeviceRequest,
  NetworkDeviceData,
  ResourceClaim,
  ResourceClaimTemplate,
} from '../gen/resource-v1.ts';
import { deepEqual } from '../../base/equal.ts';
import { formatIp, parseCidr, parseIp, unmapped } from '../../base/cidr.ts';
import { isDns1123Subdomain, isQualifiedName } from '../names.ts';
import { FIELD_IMMUTABLE_TEXT, validateAnnotations, validateLabels } from '../meta-validation.ts';
import { validateChoice, validateConditions, validateImmutableStruct, validateNodeSelector } from './common.ts';
import { internalForm } from './internal-form.ts';
import {
  validateBindingConditions,
  validateDeviceConfiguration,
  validateDeviceFullName,
  validateDeviceSelectors,
  validateDeviceTolerations,
  validateDriverName,
  validateLabelLikeName,
  validateList,
  validateOpaque,
  validatePoolName,
} from './device-parts.ts';
import { isExtendedResource } from './resource-names.ts';

const MAX_REQUESTS = 32;
const MAX_ALTERNATIVES = 8;
const MAX_CONSTRAINTS = 32;
const MAX_CONFIGS = 32;
const MAX_RESERVED = 256;
const MAX_RESULTS = 32;
const MAX_DEVICE_CONDITIONS = 8;
const MAX_IPS = 16;
const MAX_INTERFACE_NAME_LENGTH = 256;
const MAX_HARDWARE_ADDRESS_LENGTH = 128;

type Names = ReadonlySet<string>;
const itself = (text: string): string => text;

/** Requests by name, and their alternatives as `request/alternative`. */
function requestNames(claim: DeviceClaim | undefined): Names {
  return new Set(
    (claim?.requests ?? []).flatMap(({ name, firstAvailable = [] }) => [
      name,
      ...firstAvailable.map((alternative) => `${name}/${alternative.name}`),
    ]),
  );
}

function validateDeviceClaim(claim: DeviceClaim | undefined, field: Field): void {
  const names = requestNames(claim);
  validateList(claim?.requests, field.at('requests'), {
    max: MAX_REQUESTS,
    item: validateRequest,
    key: ({ name }) => name ?? '',
  });
  validateList(claim?.constraints, field.at('constraints'), {
    max: MAX_CONSTRAINTS,
    item: (constraint, at) => validateConstraint(constraint, names, at),
  });
  validateList(claim?.config, field.at('config'), {
    max: MAX_CONFIGS,
    item(config, at) {
      validateReferences(config.requests, names, at.at('requests'));
      validateDeviceConfiguration(config, at);
    },
  });
}

function validateRequest(request: DeviceRequest, field: Field): void {
  validateLabelLikeName(request.name, field.at('name'));
  const { exactly, firstAvailable = [] } = request;
  if (exactly === undefined && firstAvailable.length === 0)
    field.required('exactly one of `exactly` or `firstAvailable` is required');
  else if (exactly !== undefined && firstAvailable.length > 0)
    field.invalid(null, 'exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set');
  else if (exactly !== undefined) validateWish(exactly, field.at('exactly'));
  else
    validateList(firstAvailable, field.at('firstAvailable'), {
      max: MAX_ALTERNATIVES,
      item(alternative, at) {
        validateLabelLikeName(alternative.name, at.at('name'));
        validateWish(alternative, at);
      },
      key: ({ name }) => name ?? '',
    });
}

function validateWish(wish: ExactDeviceRequest | DeviceSubRequest, field: Field): void {
  const { deviceClassName = '', allocationMode = '', count = 0 } = wish;
  if (deviceClassName === '') field.at('deviceClassName').required();
  else field.at('deviceClassName').complain(deviceClassName, isDns1123Subdomain(deviceClassName));
  validateDeviceSelectors(wish.selectors, field.at('selectors'));
  if (!['All', 'ExactCount'].includes(allocationMode))
    field.at('allocationMode').notSupported(allocationMode, ['All', 'ExactCount']);
  if (allocationMode === 'ExactCount' && count <= 0) field.at('count').invalid(count, 'must be greater than zero');
  if (allocationMode === 'All' && count !== 0)
    field.at('count').invalid(count, "must not be specified when allocationMode is 'All'");
  validateDeviceTolerations(wish.tolerations, field.at('tolerations'));
}

function validateConstraint(constraint: DeviceConstraint, names: Names, field: Field): void {
  const { matchAttribute, distinctAttribute } = constraint;
  validateReferences(constraint.requests, names, field.at('requests'));
  if (matchAttribute !== undefined) validateDeviceFullName(matchAttribute, field.at('matchAttribute'));
  else if (distinctAttribute !== undefined) validateDeviceFullName(distinctAttribute, field.at('distinctAttribute'));
  else
    field.required('exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set');
}

function validateReferences(references: readonly string[] | undefined, names: Names, field: Field): void {
  validateList(references, field, {
    max: MAX_REQUESTS,
    item: (reference, at) => validateReference(reference, names, at),
    key: itself,
  });
}

const REFERENCE_TEXT =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

function validateReference(reference: string | undefined, names: Names, field: Field): void {
  const segments = (reference ?? '').split('/');
  if (segments.length <= 2) for (const segment of segments) validateLabelLikeName(segment, field);
  if (!names.has(reference ?? '')) field.invalid(reference ?? '', REFERENCE_TEXT);
}

/** A class. On an update, selectors and settings that stay as they were count as valid. */
export function validateDeviceClass({ spec }: DeviceClass, field: Field, old?: DeviceClass): void {
  const at = field.at('spec');
  if (old === undefined || !deepEqual(spec?.selectors, old.spec?.selectors))
    validateDeviceSelectors(spec?.selectors, at.at('selectors'));
  if (old === undefined || !deepEqual(spec?.config, old.spec?.config))
    validateList(spec?.config, at.at('config'), { max: MAX_CONFIGS, item: validateDeviceConfiguration });
  const name = spec?.extendedResourceName;
  if (name === undefined || (isQualifiedName(name).length === 0 && isExtendedResource(name))) return;
  at.at('extendedResourceName').invalid(name, 'must be a valid extended resource name');
}

export function validateResourceClaim(claim: ResourceClaim, field: Field): void {
  validateDeviceClaim(claim.spec?.devices, field.at('spec').at('devices'));
}

/** The spec of a claim never changes. */
export function validateResourceClaimUpdate(claim: ResourceClaim, old: ResourceClaim, field: Field): void {
  validateImmutableStruct([claim.spec, old.spec], 'resource.v1.ResourceClaimSpec', field.at('spec'));
}

export function validateResourceClaimTemplate(template: ResourceClaimTemplate, field: Field): void {
  const { labels, annotations } = template.spec?.metadata ?? {};
  const metadata = field.at('spec').at('metadata');
  validateAnnotations(annotations, metadata.at('annotations'));
  validateLabels(labels, metadata.at('labels'));
  validateDeviceClaim(template.spec?.spec?.devices, field.at('spec').at('spec').at('devices'));
}

/** The spec of a template never changes. */
export function validateResourceClaimTemplateUpdate(
  template: ResourceClaimTemplate,
  old: ResourceClaimTemplate,
  field: Field,
): void {
  validateResourceClaimTemplate(template, field);
  if (deepEqual(template.spec, old.spec)) return;
  // Upstream's internal type has the metadata's fields among its own.
  const { metadata, spec = {} } = template.spec ?? {};
  field
    .at('spec')
    .invalid({ ...metadata, Spec: internalForm(spec, 'resource.v1.ResourceClaimSpec') }, FIELD_IMMUTABLE_TEXT);
}

/** What names a device, as upstream shows it. */
function shownDevice({ driver = '', pool = '', device = '', shareID = '' }: Partial<AllocatedDeviceStatus>): object {
  return { Driver: driver, Pool: pool, Device: device, ShareID: shareID };
}

/** The status of a claim: who uses it, what it was given, and what drivers say of that. */
export function validateResourceClaimStatusUpdate(claim: ResourceClaim, old: ResourceClaim, field: Field): void {
  const status = field.at('status');
  const { allocation, reservedFor = [], devices } = claim.status ?? {};
  validateList(reservedFor, status.at('reservedFor'), {
    max: MAX_RESERVED,
    item(consumer, at) {
      for (const name of ['resource', 'name', 'uid'] as const)
        if ((consumer[name] ?? '') === '') at.at(name).required();
    },
    key: ({ uid }) => uid ?? '',
  });
  const allocated = new Set((allocation?.devices?.results ?? []).map(deviceId));
  validateList(devices, status.at('devices'), {
    item: (device, at) => validateDeviceStatus(device, allocated, at),
    key: deviceId,
    shown: shownDevice,
  });
  if (reservedFor.length > 0 && allocation === undefined)
    status.at('reservedFor').forbidden('may not be specified when `allocated` is not set');
  const before = new Set((old.status?.reservedFor ?? []).map(stableStringify));
  const isNew = (consumer: object): boolean => !before.has(stableStringify(consumer));
  if (claim.metadata.deletionTimestamp !== undefined && allocation !== undefined && reservedFor.some(isNew))
    status
      .at('reservedFor')
      .forbidden('new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set');
  if (allocation === undefined) return;
  if (old.status?.allocation !== undefined)
    validateImmutableStruct(
      [allocation, old.status.allocation],
      'resource.v1.AllocationResult',
      status.at('allocation'),
    );
  else validateAllocation(allocation, requestNames(claim.spec?.devices), status.at('allocation'));
}

/** What drivers said of devices goes with the devices; what was never given is left to validation. */
export function dropStatusOfReturnedDevices(draft: ResourceClaim, old: ResourceClaim): void {
  if (draft.status?.devices === undefined) return;
  const kept = new Set((draft.status.allocation?.devices?.results ?? []).map(deviceId));
  const before = new Set((old.status?.allocation?.devices?.results ?? []).map(deviceId));
  const left = draft.status.devices.filter((one) => kept.has(deviceId(one)) || !before.has(deviceId(one)));
  if (left.length > 0) draft.status.devices = left;
  else delete draft.status.devices;
}

/** What a device, or the share of one, is known by among those of a claim. Upstream: structured.SharedDeviceID. */
export function deviceId(of: { driver: string; pool: string; device: string; shareID?: string }): string {
  const { driver, pool, device, shareID = '' } = of;
  return [driver, pool, device, ...(shareID === '' ? [] : [shareID])].join('/');
}

function validateAllocation(allocation: AllocationResult, names: Names, field: Field): void {
  const devices = field.at('devices');
  validateList(allocation.devices?.results, devices.at('results'), {
    max: MAX_RESULTS,
    item: (result, at) => validateResult(result, names, at),
  });
  validateList(allocation.devices?.config, devices.at('config'), {
    max: 2 * MAX_CONFIGS, // of the class and of the claim
    item(config, at) {
      validateChoice(config.source, ['FromClaim', 'FromClass'], at.at('source'));
      validateReferences(config.requests, names, at.at('requests'));
      validateDeviceConfiguration(config, at);
    },
  });
  if (allocation.nodeSelector !== undefined) validateNodeSelector(allocation.nodeSelector, field.at('nodeSelector'));
}

function validateResult(result: DeviceRequestAllocationResult, names: Names, field: Field): void {
  validateReference(result.request, names, field.at('request'));
  validateDeviceName(result, field);
  validateBindingConditions(result, field);
  validateShareId(result.shareID, field);
}

const UID_FORM_TEXT =
  'uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters';

function validateDeviceName(
  { driver, pool, device }: DeviceRequestAllocationResult | AllocatedDeviceStatus,
  field: Field,
): void {
  validateDriverName(driver, field.at('driver'));
  validatePoolName(pool, field.at('pool'));
  validateLabelLikeName(device, field.at('device'));
}

function validateShareId(shareID: string | undefined, field: Field): void {
  if (shareID === undefined) return;
  const complaint = uuidComplaint(shareID);
  if (complaint !== undefined) field.at('shareID').invalid(shareID, `error validating uid: ${complaint}`);
  else if (shareID.length !== 36 || shareID !== shareID.toLowerCase())
    field.at('shareID').invalid(shareID, UID_FORM_TEXT);
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** What is wrong with a UUID in one of the four forms that upstream's library reads. Upstream: google/uuid Validate. */
function uuidComplaint(text: string): string | undefined {
  const format = (isSound: boolean): string | undefined => (isSound ? undefined : 'invalid UUID format');
  const length = Buffer.byteLength(text);
  switch (length) {
    case 32:
      return format(/^[\da-f]{32}$/i.test(text));
    case 36:
      return format(UUID.test(text));
    case 38:
      if (!text.startsWith('{') || !text.endsWith('}')) return 'invalid bracketed UUID format';
      return format(UUID.test(text.slice(1, -1)));
    case 45:
      if (!/^urn:uuid:/i.test(text)) return `invalid urn prefix: ${quote(text.slice(0, 9))}`;
      return format(UUID.test(text.slice(9)));
    default:
      return `invalid UUID length: ${length}`;
  }
}

function validateDeviceStatus(device: AllocatedDeviceStatus, allocated: ReadonlySet<string>, field: Field): void {
  validateDeviceName(device, field);
  validateShareId(device.shareID, field);
  if (!allocated.has(deviceId(device))) field.invalid(shownDevice(device), 'must be an allocated device in the claim');
  const conditions = device.conditions ?? [];
  if (conditions.length > MAX_DEVICE_CONDITIONS)
    field.at('conditions').tooMany(conditions.length, MAX_DEVICE_CONDITIONS);
  validateConditions(conditions, field.at('conditions'));
  if (device.data !== undefined) validateOpaque(device.data, field.at('data'));
  if (device.networkData !== undefined) validateNetworkData(device.networkData, field.at('networkData'));
}

function validateNetworkData({ interfaceName = '', hardwareAddress = '', ips }: NetworkDeviceData, field: Field): void {
  if (interfaceName.length > MAX_INTERFACE_NAME_LENGTH) field.at('interfaceName').tooLong(MAX_INTERFACE_NAME_LENGTH);
  if (hardwareAddress.length > MAX_HARDWARE_ADDRESS_LENGTH)
    field.at('hardwareAddress').tooLong(MAX_HARDWARE_ADDRESS_LENGTH);
  validateList(ips, field.at('ips'), {
    max: MAX_IPS,
    item: validateInterfaceAddress,
    key: itself,
  });
}

/** An address with the length of its network, in canonical form. */
function validateInterfaceAddress(address: string, field: Field): void {
  const range = parseCidr(address);
  const ip = parseIp(address.split('/')[0]!);
  if (range === undefined || ip === undefined)
    return field.invalid(address, 'must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)');
  const { prefixLength } = range;
  const plain = unmapped(ip);
  // An IPv4 address in IPv6 clothes is IPv4, and its length counts from there.
  const length = plain.family === 4 && prefixLength > 32 ? prefixLength - 96 : prefixLength;
  const canonical = `${formatIp(plain)}/${length}`;
  if (address !== canonical) field.invalid(address, `must be in canonical form (${quote(canonical)})`);
}

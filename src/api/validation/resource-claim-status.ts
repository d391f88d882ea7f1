// Validation of resource claims' statuses: allocations, consumers, and the drivers' status of devices. Upstream:
// resource/validation (ValidateResourceClaimStatusUpdate).
import { formatIp, parseCidr, parseIp, unmapped } from '../../base/cidr.ts';
import { quote } from '../../base/go-quote.ts';
import { stableStringify } from '../../base/stable-json.ts';
import type { Field } from '../field-error.ts';
import type {
  AllocatedDeviceStatus,
  AllocationResult,
  DeviceRequestAllocationResult,
  NetworkDeviceData,
  ResourceClaim,
} from '../gen/resource-v1.ts';
import { validateChoice, validateConditions, validateImmutableStruct } from './common.ts';
import {
  validateBindingConditions,
  validateDeviceConfiguration,
  validateDriverName,
  validateLabelLikeName,
  validateList,
  validateOpaque,
  validatePoolName,
} from './device-parts.ts';
import {
  itself,
  MAX_CONFIGS,
  type Names,
  requestNames,
  validateReference,
  validateReferences,
} from './resource-claim.ts';
import { validateNodeSelector } from './selectors.ts';

const MAX_RESERVED = 256;

const MAX_RESULTS = 32;

const MAX_DEVICE_CONDITIONS = 8;

const MAX_IPS = 16;

const MAX_INTERFACE_NAME_LENGTH = 256;

const MAX_HARDWARE_ADDRESS_LENGTH = 128;

/** The ID of a device in upstream's form. */
function shownDevice({ driver = '', pool = '', device = '', shareID = '' }: Partial<AllocatedDeviceStatus>): object {
  return { Driver: driver, Pool: pool, Device: device, ShareID: shareID };
}

/** Validates the consumers, the allocation and the device statuses of a claim. */
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

/** Removes the drivers' status of devices that are no longer allocated. Validation refuses that of devices that never were. */
export function dropStatusOfReturnedDevices(draft: ResourceClaim, old: ResourceClaim): void {
  if (draft.status?.devices === undefined) return;
  const allocated = new Set((draft.status.allocation?.devices?.results ?? []).map(deviceId));
  const before = new Set((old.status?.allocation?.devices?.results ?? []).map(deviceId));
  const left = draft.status.devices.filter((one) => allocated.has(deviceId(one)) || !before.has(deviceId(one)));
  if (left.length > 0) draft.status.devices = left;
  else delete draft.status.devices;
}

/** The ID of a device, or of a share of one, within a claim. Upstream: structured.SharedDeviceID. */
export function deviceId(sharedDevice: { driver: string; pool: string; device: string; shareID?: string }): string {
  const { driver, pool, device, shareID = '' } = sharedDevice;
  return [driver, pool, device, ...(shareID === '' ? [] : [shareID])].join('/');
}

function validateAllocation(allocation: AllocationResult, names: Names, field: Field): void {
  const devices = field.at('devices');
  validateList(allocation.devices?.results, devices.at('results'), {
    max: MAX_RESULTS,
    item: (result, at) => validateResult(result, names, at),
  });
  validateList(allocation.devices?.config, devices.at('config'), {
    max: 2 * MAX_CONFIGS, // those of the class and of the claim
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

/** The error of a UUID that has none of the four forms of upstream's library. Upstream: google/uuid Validate. */
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

/** The text must be a canonical address with a prefix length. */
function validateInterfaceAddress(address: string, field: Field): void {
  const range = parseCidr(address);
  const ip = parseIp(address.split('/')[0]!);
  if (range === undefined || ip === undefined)
    return field.invalid(address, 'must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)');
  const { prefixLength } = range;
  const plain = unmapped(ip);
  // For an IPv4 address mapped to IPv6, the prefix length counts from the IPv4 part.
  const length = plain.family === 4 && prefixLength > 32 ? prefixLength - 96 : prefixLength;
  const canonical = `${formatIp(plain)}/${length}`;
  if (address !== canonical) field.invalid(address, `must be in canonical form (${quote(canonical)})`);
}

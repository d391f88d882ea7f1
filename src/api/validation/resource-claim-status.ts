/** What became of a resource claim: the devices given to it, who uses it, and what drivers say. Upstream: apis/resource/validation. */
import { parseCidr } from '../../base/cidr.ts';
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type {
  AllocatedDeviceStatus,
  AllocationResult,
  DeviceRequestAllocationResult,
  NetworkDeviceData,
  ResourceClaim,
  ResourceClaimConsumerReference,
} from '../gen/resource-v1.ts';
import { isDns1123Label, isDns1123Subdomain } from '../names.ts';
import { validateChoice, validateConditions, validateImmutable, validateNodeSelector } from './common.ts';
import {
  MAX_REQUESTS,
  namesOfRequests,
  validateConfiguration,
  validateJsonObject,
  validateRequestReferences,
  type RequestNames,
} from './resource-claim.ts';
import { validateCSIDriverName } from './storage.ts';

const MAX_RESERVATIONS = 256;
const MAX_POOL_NAME = 253;
const MAX_CONDITIONS = 8;
const MAX_DATA = 10 * 1024;
const MAX_INTERFACE_NAME = 256;
const MAX_HARDWARE_ADDRESS = 128;
const MAX_ADDRESSES = 16;

type DeviceReference = Pick<AllocatedDeviceStatus, 'driver' | 'pool' | 'device' | 'shareID'>;

/** Equal for the same device, or the same share of it. */
export function deviceKeyOf({ driver, pool, device, shareID }: DeviceReference): string {
  return [driver, pool, device, ...(shareID === undefined ? [] : [shareID])].join('/');
}

function validateDeviceReference({ driver, pool, device, shareID }: DeviceReference, field: Field): void {
  validateCSIDriverName(driver, field.at('driver'));
  const place = field.at('pool');
  if ((pool ?? '') === '') place.required();
  else {
    if (pool.length > MAX_POOL_NAME) place.tooLong(MAX_POOL_NAME);
    for (const part of pool.split('/')) place.complain(part, isDns1123Subdomain(part));
  }
  field.at('device').complain(device, isDns1123Label(device ?? ''));
  if (shareID !== undefined && !/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(shareID))
    field
      .at('shareID')
      .invalid(
        shareID,
        'uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters',
      );
}

function validateResult(result: DeviceRequestAllocationResult, names: RequestNames, field: Field): void {
  validateRequestReferences([result.request], names, () => field.at('request'));
  validateDeviceReference(result, field);
}

function validateAllocation({ devices = {}, nodeSelector }: AllocationResult, names: RequestNames, field: Field): void {
  const { results = [], config = [] } = devices;
  const place = field.at('devices');
  if (results.length > MAX_REQUESTS) place.at('results').tooMany(results.length, MAX_REQUESTS);
  for (const [index, result] of results.entries()) validateResult(result, names, place.at('results').item(index));
  if (config.length > 2 * MAX_REQUESTS) place.at('config').tooMany(config.length, 2 * MAX_REQUESTS);
  for (const [index, one] of config.entries()) {
    const at = place.at('config').item(index);
    validateChoice(one.source, ['FromClaim', 'FromClass'], at.at('source'));
    validateRequestReferences(one.requests, names, (of) => at.at('requests').item(of));
    validateConfiguration(one, at);
  }
  if (nodeSelector !== undefined) validateNodeSelector(nodeSelector, field.at('nodeSelector'));
}

function validateReservations(claim: ResourceClaim, old: ResourceClaim, field: Field): void {
  const users: readonly ResourceClaimConsumerReference[] = claim.status?.reservedFor ?? [];
  if (users.length > MAX_RESERVATIONS) field.tooMany(users.length, MAX_RESERVATIONS);
  const seen = new Set<string>();
  for (const [index, user] of users.entries()) {
    const place = field.item(index);
    for (const part of ['resource', 'name', 'uid'] as const) if ((user[part] ?? '') === '') place.at(part).required();
    if (seen.has(user.uid)) place.duplicate(user.uid);
    seen.add(user.uid);
  }
  if (users.length === 0) return;
  if (claim.status?.allocation === undefined) field.forbidden('may not be specified when `allocated` is not set');
  else if (claim.metadata.deletionTimestamp !== undefined) {
    const before = old.status?.reservedFor ?? [];
    if (users.some((user) => !before.some((known) => deepEqual(known, user))))
      field.forbidden('new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set');
  }
}

function validateNetworkData(
  { interfaceName = '', hardwareAddress = '', ips = [] }: NetworkDeviceData,
  field: Field,
): void {
  if (interfaceName.length > MAX_INTERFACE_NAME) field.at('interfaceName').tooLong(MAX_INTERFACE_NAME);
  if (hardwareAddress.length > MAX_HARDWARE_ADDRESS) field.at('hardwareAddress').tooLong(MAX_HARDWARE_ADDRESS);
  const place = field.at('ips');
  if (ips.length > MAX_ADDRESSES) place.tooMany(ips.length, MAX_ADDRESSES);
  for (const [index, text] of ips.entries()) {
    if (parseCidr(text) === undefined)
      place.item(index).invalid(text, 'must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)');
    if (ips.indexOf(text) < index) place.item(index).duplicate(text);
  }
}

function validateDevice(device: AllocatedDeviceStatus, allocated: ReadonlySet<string>, field: Field): void {
  validateDeviceReference(device, field);
  const key = deviceKeyOf(device);
  if (!allocated.has(key)) field.invalid(key, 'must be an allocated device in the claim');
  const { conditions = [], data, networkData } = device;
  if (conditions.length > MAX_CONDITIONS) field.at('conditions').tooMany(conditions.length, MAX_CONDITIONS);
  validateConditions(conditions, field.at('conditions'));
  if (data !== undefined) validateJsonObject(data, MAX_DATA, field.at('data'));
  if (networkData !== undefined) validateNetworkData(networkData, field.at('networkData'));
}

/** An update of a claim's status. */
export function validateResourceClaimStatusUpdate(claim: ResourceClaim, old: ResourceClaim, field: Field): void {
  const place = field.at('status');
  validateReservations(claim, old, place.at('reservedFor'));
  const { allocation, devices = [] } = claim.status ?? {};
  const allocated = new Set((allocation?.devices?.results ?? []).map(deviceKeyOf));
  const seen = new Set<string>();
  for (const [index, device] of devices.entries()) {
    const at = place.at('devices').item(index);
    validateDevice(device, allocated, at);
    if (seen.has(deviceKeyOf(device))) at.duplicate(deviceKeyOf(device));
    seen.add(deviceKeyOf(device));
  }
  if (allocation === undefined) return;
  const before = old.status?.allocation;
  if (before === undefined) validateAllocation(allocation, namesOfRequests(claim.spec), place.at('allocation'));
  else validateImmutable(allocation, before, place.at('allocation'));
}

/** What drivers said of devices goes with the devices. */
export function dropStatusOfReturnedDevices(draft: ResourceClaim, old: ResourceClaim): void {
  if (draft.status?.devices === undefined) return;
  const kept = new Set((draft.status.allocation?.devices?.results ?? []).map(deviceKeyOf));
  const before = new Set((old.status?.allocation?.devices?.results ?? []).map(deviceKeyOf));
  const left = draft.status.devices.filter((one) => kept.has(deviceKeyOf(one)) || !before.has(deviceKeyOf(one)));
  if (left.length > 0) draft.status.devices = left;
  else delete draft.status.devices;
}

/** Validation of CSI drivers, CSI nodes and storage capacities. Upstream: apis/storage/validation. */
import type { Field } from '../field-error.ts';
import type { CSIDriver, CSINode, CSINodeDriver, CSIStorageCapacity, TokenRequest } from '../gen/storage-v1.ts';
import { isDns1123Subdomain, isQualifiedName } from '../names.ts';
import {
  validateImmutable,
  validateImmutableStruct,
  validateNonnegative,
  validateNonnegativeQuantity,
  validateOptionalChoice,
} from './common.ts';
import { validateLabelSelector } from './selectors.ts';

const MAX_NAME_BYTES = 63;
const MAX_NODE_ID_BYTES = 256;
const SHORTEST_TOKEN_SECONDS = 600;
const SHORTEST_PERIOD_SECONDS = 10;

/** Validates a reference to a driver by name. */
export function validateCSIDriverName(name: string | undefined, field: Field): void {
  if (name === undefined || name === '') return field.required();
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) field.tooLong(MAX_NAME_BYTES);
  field.complain(name, isDns1123Subdomain(name.toLowerCase()));
}

function validateTokenRequests(requests: readonly TokenRequest[], field: Field): void {
  const audiences = new Set<string>();
  for (const [index, { audience = '', expirationSeconds }] of requests.entries()) {
    const place = field.item(index);
    if (audiences.has(audience)) {
      place.at('audience').duplicate(audience);
      continue;
    }
    audiences.add(audience);
    const seconds = expirationSeconds ?? SHORTEST_TOKEN_SECONDS;
    if (seconds < SHORTEST_TOKEN_SECONDS)
      place.at('expirationSeconds').invalid(seconds, 'may not specify a duration less than 10 minutes');
    if (seconds > 2 ** 32)
      place.at('expirationSeconds').invalid(seconds, 'may not specify a duration larger than 2^32 seconds');
  }
}

export function validateCSIDriver(driver: CSIDriver, field: Field): void {
  const place = field.at('spec');
  const spec = driver.spec ?? {};
  if (spec.attachRequired === undefined) place.at('attachedRequired').required();
  for (const name of ['podInfoOnMount', 'storageCapacity'] as const)
    if (spec[name] === undefined) place.at(name).required();
  const policies = ['File', 'None', 'ReadWriteOnceWithFSType'];
  validateOptionalChoice(spec.fsGroupPolicy, policies, place.at('fsGroupPolicy'));
  validateTokenRequests(spec.tokenRequests ?? [], place.at('tokenRequests'));
  for (const mode of spec.volumeLifecycleModes ?? [])
    validateOptionalChoice(mode, ['Persistent', 'Ephemeral'], place.at('volumeLifecycleModes'));
  if (spec.seLinuxMount === undefined) place.at('seLinuxMount').required();
  const period = spec.nodeAllocatableUpdatePeriodSeconds;
  if (period !== undefined && period < SHORTEST_PERIOD_SECONDS)
    place
      .at('nodeAllocatableUpdatePeriodSeconds')
      .invalid(period, `must be greater than or equal to ${SHORTEST_PERIOD_SECONDS} seconds`);
  const { serviceAccountTokenInSecrets: inSecrets } = spec;
  if (inSecrets !== undefined && (spec.tokenRequests ?? []).length === 0)
    place
      .at('serviceAccountTokenInSecrets')
      .invalid(inSecrets, 'serviceAccountTokenInSecrets is set but no tokenRequests are specified');
}

/** Fields that attached volumes depend on are immutable. */
export function validateCSIDriverUpdate(driver: CSIDriver, old: CSIDriver, field: Field): void {
  validateCSIDriver(driver, field);
  const place = field.at('spec');
  validateImmutable(driver.spec?.attachRequired, old.spec?.attachRequired, place.at('attachedRequired'));
  const [modes, before] = [driver.spec?.volumeLifecycleModes, old.spec?.volumeLifecycleModes];
  validateImmutable(modes, before, place.at('volumeLifecycleModes'));
}

function validateNodeDriver(driver: CSINodeDriver, seen: Set<string>, field: Field): void {
  const { name = '', nodeID = '', allocatable, topologyKeys = [] } = driver;
  validateCSIDriverName(name, field.at('name'));
  if (nodeID === '') field.at('nodeID').required();
  if (Buffer.byteLength(nodeID) > MAX_NODE_ID_BYTES)
    field.at('nodeID').invalid(nodeID, `must be ${MAX_NODE_ID_BYTES} characters or less`);
  validateNonnegative(allocatable?.count, field.at('allocatable').at('count'));
  if (seen.has(name)) field.at('name').duplicate(name);
  seen.add(name);
  const keys = new Set<string>();
  for (const key of topologyKeys) {
    if (key === '') field.required();
    if (keys.has(key)) field.duplicate(key);
    keys.add(key);
    field.complain(key, isQualifiedName(key));
  }
}

export function validateCSINode(node: CSINode, field: Field): void {
  const names = new Set<string>();
  for (const [index, driver] of (node.spec?.drivers ?? []).entries())
    validateNodeDriver(driver, names, field.at('spec').at('drivers').item(index));
}

/** A driver's entry is immutable except for its number of volumes. */
export function validateCSINodeUpdate(node: CSINode, old: CSINode, field: Field): void {
  validateCSINode(node, field);
  const now = Map.groupBy(node.spec?.drivers ?? [], ({ name }) => name);
  for (const { allocatable: _, ...before } of old.spec?.drivers ?? [])
    for (const { allocatable: __, ...driver } of now.get(before.name) ?? [])
      validateImmutableStruct([driver, before], 'storage.v1.CSINodeDriver', field.at('spec').at('drivers'));
}

export function validateCSIStorageCapacity(capacity: CSIStorageCapacity, field: Field): void {
  const { nodeTopology, storageClassName = '', capacity: free } = capacity;
  validateLabelSelector(nodeTopology, field.at('nodeTopology'));
  field.at('storageClassName').complain(storageClassName, isDns1123Subdomain(storageClassName));
  if (free !== undefined) validateNonnegativeQuantity(free, field.at('capacity'));
}

/** The fields that identify a capacity are immutable. */
export function validateCSIStorageCapacityUpdate(
  capacity: CSIStorageCapacity,
  old: CSIStorageCapacity,
  field: Field,
): void {
  validateCSIStorageCapacity(capacity, field);
  validateImmutable(capacity.nodeTopology, old.nodeTopology, field.at('nodeTopology'));
  validateImmutable(capacity.storageClassName ?? '', old.storageClassName ?? '', field.at('storageClassName'));
}

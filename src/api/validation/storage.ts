/** Storage classes and CSI objects. Upstream: apis/storage/validation. */
import type { Field } from '../field-error.ts';
import type {
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  StorageClass,
  VolumeAttachment,
  VolumeAttributesClass,
} from '../gen/storage-v1.ts';
import { isDns1123Subdomain, isQualifiedName } from '../names.ts';
import {
  validateImmutable,
  validateLabelSelector,
  validateNonnegative,
  validateNonnegativeQuantity,
  validateOptionalChoice,
} from './common.ts';

const MAX_PARAMETERS = 512;
const MAX_PARAMETERS_BYTES = 256 * 1024;

function validateParameters(parameters: Readonly<Record<string, string>> | undefined, field: Field): void {
  const entries = Object.entries(parameters ?? {});
  if (entries.length > MAX_PARAMETERS) field.tooLong(MAX_PARAMETERS);
  let total = 0;
  for (const [key, value] of entries) {
    if (key === '') field.invalid(key, 'field can not be empty.');
    total += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (total > MAX_PARAMETERS_BYTES) field.tooLong(MAX_PARAMETERS_BYTES);
}

export function validateStorageClass(storageClass: StorageClass, field: Field): void {
  if ((storageClass.provisioner ?? '') === '') field.at('provisioner').required(storageClass.provisioner ?? '');
  else
    field
      .at('provisioner')
      .complain(storageClass.provisioner.toLowerCase(), isQualifiedName(storageClass.provisioner.toLowerCase()));
  validateParameters(storageClass.parameters, field.at('parameters'));
  validateOptionalChoice(storageClass.reclaimPolicy, ['Delete', 'Retain'], field.at('reclaimPolicy'));
  if (storageClass.volumeBindingMode === undefined) field.at('volumeBindingMode').required();
  validateOptionalChoice(
    storageClass.volumeBindingMode,
    ['Immediate', 'WaitForFirstConsumer'],
    field.at('volumeBindingMode'),
  );
}

/** What provisioned volumes depend on never changes. */
export function validateStorageClassUpdate(storageClass: StorageClass, old: StorageClass, field: Field): void {
  validateStorageClass(storageClass, field);
  const same = (a: object | undefined, b: object | undefined) =>
    JSON.stringify(Object.entries(a ?? {}).toSorted()) === JSON.stringify(Object.entries(b ?? {}).toSorted());
  if (!same(storageClass.parameters, old.parameters))
    field.at('parameters').forbidden('updates to parameters are forbidden.');
  if (storageClass.provisioner !== old.provisioner)
    field.at('provisioner').forbidden('updates to provisioner are forbidden.');
  if (storageClass.reclaimPolicy !== old.reclaimPolicy)
    field.at('reclaimPolicy').forbidden('updates to reclaimPolicy are forbidden.');
  validateImmutable(storageClass.volumeBindingMode, old.volumeBindingMode, field.at('volumeBindingMode'));
}

export function validateVolumeAttachment(attachment: VolumeAttachment, field: Field): void {
  const spec = field.at('spec');
  if ((attachment.spec?.attacher ?? '') === '') spec.at('attacher').required();
  if ((attachment.spec?.nodeName ?? '') === '') spec.at('nodeName').required();
  const { persistentVolumeName, inlineVolumeSpec } = attachment.spec?.source ?? {};
  if (persistentVolumeName === undefined && inlineVolumeSpec === undefined) spec.at('source').required();
  if (persistentVolumeName === '') spec.at('source').at('persistentVolumeName').required('must not be empty');
  if (persistentVolumeName !== undefined && inlineVolumeSpec !== undefined)
    spec.at('source').forbidden('must specify exactly one of inlineVolumeSpec and persistentVolumeName');
}

/** The spec of an attachment never changes. */
export function validateVolumeAttachmentUpdate(
  attachment: VolumeAttachment,
  old: VolumeAttachment,
  field: Field,
): void {
  validateVolumeAttachment(attachment, field);
  validateImmutable(attachment.spec, old.spec, field.at('spec'));
}

export function validateCSIDriverName(name: string | undefined, field: Field): void {
  if (name === undefined || name === '') return field.required();
  if (name.length > 63) field.tooLong(63);
  field.complain(name, isDns1123Subdomain(name.toLowerCase()));
}

export function validateCSIDriver(driver: CSIDriver, field: Field): void {
  validateCSIDriverName(driver.metadata.name, field.at('metadata').at('name'));
  const spec = field.at('spec');
  const {
    attachRequired,
    podInfoOnMount,
    storageCapacity,
    fsGroupPolicy,
    tokenRequests = [],
    volumeLifecycleModes = [],
  } = driver.spec ?? {};
  if (attachRequired === undefined) spec.at('attachedRequired').required();
  if (podInfoOnMount === undefined) spec.at('podInfoOnMount').required();
  if (storageCapacity === undefined) spec.at('storageCapacity').required();
  validateOptionalChoice(fsGroupPolicy, ['ReadWriteOnceWithFSType', 'File', 'None'], spec.at('fsGroupPolicy'));
  const audiences = new Set<string>();
  for (const [index, request] of tokenRequests.entries()) {
    const place = spec.at('tokenRequests').item(index);
    if (audiences.has(request.audience)) place.at('audience').duplicate(request.audience);
    audiences.add(request.audience);
    if (request.expirationSeconds !== undefined && request.expirationSeconds < 600)
      place
        .at('expirationSeconds')
        .invalid(request.expirationSeconds, 'may not specify a duration less than 10 minutes');
  }
  for (const mode of volumeLifecycleModes)
    validateOptionalChoice(mode, ['Ephemeral', 'Persistent'], spec.at('volumeLifecycleModes'));
}

/** What attached volumes depend on never changes. */
export function validateCSIDriverUpdate(driver: CSIDriver, old: CSIDriver, field: Field): void {
  validateCSIDriver(driver, field);
  validateImmutable(driver.spec.attachRequired, old.spec.attachRequired, field.at('spec').at('attachedRequired'));
  validateImmutable(
    driver.spec.volumeLifecycleModes,
    old.spec.volumeLifecycleModes,
    field.at('spec').at('volumeLifecycleModes'),
  );
}

export function validateCSINode(node: CSINode, field: Field): void {
  const names = new Set<string>();
  for (const [index, driver] of (node.spec?.drivers ?? []).entries()) {
    const place = field.at('spec').at('drivers').item(index);
    validateCSIDriverName(driver.name, place.at('name'));
    if (names.has(driver.name)) place.at('name').duplicate(driver.name);
    names.add(driver.name);
    if ((driver.nodeID ?? '') === '') place.at('nodeID').required();
    if (Buffer.byteLength(driver.nodeID ?? '') > 256)
      place.at('nodeID').invalid(driver.nodeID, 'must be 256 characters or less');
    validateNonnegative(driver.allocatable?.count, place.at('allocatable').at('count'));
    for (const key of driver.topologyKeys ?? []) place.at('topologyKeys').complain(key, isQualifiedName(key));
  }
}

export function validateCSIStorageCapacity(capacity: CSIStorageCapacity, field: Field): void {
  validateLabelSelector(capacity.nodeTopology, field.at('nodeTopology'));
  field.at('storageClassName').complain(capacity.storageClassName, isDns1123Subdomain(capacity.storageClassName ?? ''));
  if (capacity.capacity !== undefined) validateNonnegativeQuantity(capacity.capacity, field.at('capacity'));
  if (capacity.maximumVolumeSize !== undefined)
    validateNonnegativeQuantity(capacity.maximumVolumeSize, field.at('maximumVolumeSize'));
}

export function validateVolumeAttributesClass(attributes: VolumeAttributesClass, field: Field): void {
  validateCSIDriverName(attributes.driverName, field.at('driverName'));
  validateParameters(attributes.parameters, field.at('parameters'));
}

/** A volume attributes class never changes. */
export function validateVolumeAttributesClassUpdate(
  attributes: VolumeAttributesClass,
  old: VolumeAttributesClass,
  field: Field,
): void {
  validateImmutable(attributes.driverName, old.driverName, field.at('driverName'));
  validateImmutable(attributes.parameters, old.parameters, field.at('parameters'));
}

/**
 * Validation of volume sources that pods and persistent volumes share: disks, network file systems, block devices. Upstream: the
 * validate…VolumeSource functions of apis/core/validation.
 */
import type { Field } from '../field-error.ts';
import type {
  AzureDiskVolumeSource,
  AzureFilePersistentVolumeSource,
  CSIVolumeSource,
  FCVolumeSource,
  FlexVolumeSource,
  FlockerVolumeSource,
  GitRepoVolumeSource,
  GlusterfsPersistentVolumeSource,
  QuobyteVolumeSource,
  StorageOSPersistentVolumeSource,
} from '../gen/core-v1.ts';
import { inclusiveRangeText, isDns1123Label, isDns1123Subdomain } from '../names.ts';
import { validateOptionalChoice } from './common.ts';
import { validateCSIDriverName } from './csi.ts';

/** Required fields of a source: texts and lists that must not be empty. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  awsElasticBlockStore: ['volumeID'],
  azureDisk: ['diskName', 'diskURI'],
  azureFile: ['secretName', 'shareName'],
  cephfs: ['monitors'],
  cinder: ['volumeID'],
  flexVolume: ['driver'],
  gcePersistentDisk: ['pdName'],
  gitRepo: ['repository'],
  glusterfs: ['endpoints', 'path'],
  iscsi: ['targetPortal', 'iqn'],
  photonPersistentDisk: ['pdID'],
  portworxVolume: ['volumeID'],
  rbd: ['monitors', 'image'],
  scaleIO: ['gateway', 'system', 'volumeName'],
  storageos: ['volumeName'],
  vsphereVolume: ['volumePath'],
};

const CHECKS: Readonly<Record<string, (source: never, field: Field) => void>> = {
  awsElasticBlockStore: validatePartition,
  azureDisk: validateAzureDisk,
  azureFile: validateAzureFile,
  cinder: validateSecretRef,
  csi: validateCsi,
  fc: validateFc,
  flexVolume: validateFlexVolume,
  flocker: validateFlocker,
  gcePersistentDisk: validatePartition,
  gitRepo: validateGitRepo,
  glusterfs: validateGlusterfs,
  quobyte: validateQuobyte,
  storageos: validateStorageOs,
};

/** Upstream's name of a source when it differs from the field's name. */
const SHOWN_NAMES: Readonly<Record<string, string>> = { gcePersistentDisk: 'persistentDisk' };

/** Validates the source of this name when it is one of these; other sources are validated elsewhere. */
export function validateVolumeSource(name: string, source: object, field: Field): void {
  const at = field.at(SHOWN_NAMES[name] ?? name);
  for (const needed of NEEDED[name] ?? []) {
    const value = (source as Readonly<Record<string, string | readonly unknown[] | undefined>>)[needed];
    if ((value?.length ?? 0) === 0) at.at(needed).required();
  }
  CHECKS[name]?.(source as never, at);
}

/** Validates a relative path inside a volume. */
export function validateLocalPath(path: string, field: Field): void {
  if (path.startsWith('/')) field.invalid(path, 'must be a relative path');
  validatePathNoBacksteps(path, field);
}

/** The path must not contain `..`. */
export function validatePathNoBacksteps(path: string, field: Field): void {
  if (path.split('/').includes('..')) field.invalid(path, "must not contain '..'");
}

function validatePartition({ partition = 0 }: { readonly partition?: number }, field: Field): void {
  if (partition < 0 || partition > 255) field.at('partition').invalid(partition, inclusiveRangeText(1, 255));
}

function validateSecretRef({ secretRef }: { readonly secretRef?: { readonly name?: string } }, field: Field): void {
  if (secretRef !== undefined && (secretRef.name ?? '') === '') field.at('secretRef').at('name').required();
}

function validateAzureDisk({ cachingMode, kind, diskURI = '' }: AzureDiskVolumeSource, field: Field): void {
  validateOptionalChoice(cachingMode, ['None', 'ReadOnly', 'ReadWrite'], field.at('cachingMode'));
  validateOptionalChoice(kind, ['Dedicated', 'Managed', 'Shared'], field.at('kind'));
  if (kind === 'Managed' && !diskURI.startsWith('/subscriptions/'))
    field
      .at('diskURI')
      .notSupported(diskURI, [
        '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}',
      ]);
  if (kind !== undefined && kind !== 'Managed' && !diskURI.startsWith('https://'))
    field
      .at('diskURI')
      .notSupported(diskURI, ['https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd']);
}

function validateAzureFile({ secretNamespace }: AzureFilePersistentVolumeSource, field: Field): void {
  if (secretNamespace === '') field.at('secretNamespace').required();
}

/** Validates a CSI volume in a pod. CSI sources of persistent volumes have more rules. */
function validateCsi({ driver, nodePublishSecretRef: secret }: CSIVolumeSource, field: Field): void {
  validateCSIDriverName(driver, field.at('driver'));
  if (secret === undefined) return;
  const { name = '' } = secret;
  if (name === '') field.at('nodePublishSecretRef').at('name').required();
  else field.at('name').complain(name, isDns1123Subdomain(name));
}

function validateFc({ targetWWNs = [], wwids = [], lun }: FCVolumeSource, field: Field): void {
  const at = field.at('targetWWNs');
  if (targetWWNs.length === 0 && wwids.length === 0)
    at.required('must specify either targetWWNs or wwids, but not both');
  if (targetWWNs.length > 0 && wwids.length > 0)
    at.invalid(targetWWNs, 'targetWWNs and wwids can not be specified simultaneously');
  if (targetWWNs.length === 0) return;
  if (lun === undefined) field.at('lun').required('lun is required if targetWWNs is specified');
  else validateLun(lun, field);
}

export function validateLun(lun: number, field: Field): void {
  if (lun < 0 || lun > 255) field.at('lun').invalid(lun, inclusiveRangeText(0, 255));
}

function validateFlexVolume({ options = {} }: FlexVolumeSource, field: Field): void {
  for (const key of Object.keys(options))
    if (/\.(kubernetes|k8s)\.io$/.test(`.${key.split('/')[0]!.toLowerCase()}`))
      field.at('options').key(key).invalid(key, 'kubernetes.io and k8s.io namespaces are reserved');
}

function validateFlocker({ datasetName = '', datasetUUID = '' }: FlockerVolumeSource, field: Field): void {
  if (datasetName === '' && datasetUUID === '') field.required('one of datasetName and datasetUUID is required');
  if (datasetName !== '' && datasetUUID !== '')
    field.invalid('resource', 'datasetName and datasetUUID can not be specified simultaneously');
  if (datasetName.includes('/')) field.at('datasetName').invalid(datasetName, "must not contain '/'");
}

function validateGitRepo({ directory = '' }: GitRepoVolumeSource, field: Field): void {
  validateLocalPath(directory, field.at('directory'));
}

function validateGlusterfs({ endpointsNamespace }: GlusterfsPersistentVolumeSource, field: Field): void {
  if (endpointsNamespace === '')
    field.at('endpointsNamespace').invalid('', 'if the endpointnamespace is set, it must be a valid namespace name');
}

const MAX_TENANT_LENGTH = 64;

function validateQuobyte({ registry = '', tenant = '', volume = '' }: QuobyteVolumeSource, field: Field): void {
  const text = 'must be a host:port pair or multiple pairs separated by commas';
  if (registry === '') field.at('registry').required(text);
  else if (tenant.length > MAX_TENANT_LENGTH)
    field.at('tenant').required('must be a UUID and may not exceed a length of 64 characters');
  else if (!registry.split(',').every((pair) => /^([^:]*|\[.*\]):\d*$/.test(pair)))
    field.at('registry').invalid(registry, text);
  if (volume === '') field.at('volume').required();
}

function validateStorageOs(source: StorageOSPersistentVolumeSource, field: Field): void {
  const { volumeName = '', volumeNamespace = '' } = source;
  if (volumeName !== '') field.at('volumeName').complain(volumeName, isDns1123Label(volumeName));
  if (volumeNamespace !== '') field.at('volumeNamespace').complain(volumeNamespace, isDns1123Label(volumeNamespace));
  validateSecretRef(source, field);
}

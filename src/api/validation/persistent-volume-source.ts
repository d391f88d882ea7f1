/** Validation of a persistent volume's source. Upstream: apis/core/validation ValidatePersistentVolumeSpec. */
import type { Field } from '../field-error.ts';
import type { CSIPersistentVolumeSource, PersistentVolumeSpec, SecretReference } from '../gen/core-v1.ts';
import { isDns1123Label, isDns1123Subdomain } from '../names.ts';
import { validateCSIDriverName } from './csi.ts';
import { validateHostPath, validateNfs } from './host-sources.ts';
import { validatePersistentIscsi } from './iscsi.ts';
import { validatePathNoBacksteps, validateVolumeSource } from './volume-sources.ts';

/** Sources in upstream's order: the first that is set is validated, and each further one refused. */
export const PERSISTENT_VOLUME_SOURCES = [
  'hostPath',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'flocker',
  'nfs',
  'rbd',
  'quobyte',
  'cephfs',
  'iscsi',
  'cinder',
  'fc',
  'flexVolume',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'scaleIO',
  'local',
  'storageos',
  'csi',
] as const satisfies readonly (keyof PersistentVolumeSpec)[];

/** `volumeName` is undefined for the inline volume of an attachment. */
export function validatePersistentVolumeSource(spec: PersistentVolumeSpec, volumeName = '', field: Field): void {
  const [first, ...rest] = PERSISTENT_VOLUME_SOURCES.filter((name) => spec[name] !== undefined);
  if (first === undefined) return field.required('must specify a volume type');
  const only = { ...spec, ...Object.fromEntries(rest.map((name) => [name, undefined])) };
  validateOne({ spec: only, name: first, volumeName }, field);
  for (const name of rest) {
    // As upstream, a second source of this kind is not refused.
    if (name === 'flexVolume') validateVolumeSource(name, spec[name]!, field);
    else field.at(name === 'cephfs' ? 'cephFS' : name).forbidden('may not specify more than 1 volume type');
  }
}

interface OneSource {
  readonly spec: PersistentVolumeSpec;
  readonly name: (typeof PERSISTENT_VOLUME_SOURCES)[number];
  readonly volumeName: string;
}

function validateOne({ spec, name, volumeName }: OneSource, field: Field): void {
  const { hostPath, nfs, local, csi, cinder, iscsi } = spec;
  if (csi === undefined) validateVolumeSource(name, spec[name]!, field);
  else validateCsi(csi, field.at('csi'));
  if (hostPath !== undefined) validateHostPath(hostPath, field.at('hostPath'));
  if (nfs !== undefined) validateNfs(nfs, field.at('nfs'));
  if (cinder?.secretRef !== undefined && (cinder.secretRef.namespace ?? '') === '')
    field.at('cinder').at('secretRef').at('namespace').required();
  if (iscsi !== undefined) validatePersistentIscsi(iscsi, volumeName, field);
  if (local === undefined) return;
  if ((local.path ?? '') === '') field.at('local').at('path').required();
  validatePathNoBacksteps(local.path ?? '', field.at('local').at('path'));
  if (spec.nodeAffinity === undefined) field.at('nodeAffinity').required('Local volume requires node affinity');
}

const CSI_SECRETS = [
  'controllerPublishSecretRef',
  'controllerExpandSecretRef',
  'nodePublishSecretRef',
  'nodeExpandSecretRef',
] as const;

function validateCsi(source: CSIPersistentVolumeSource, field: Field): void {
  validateCSIDriverName(source.driver, field.at('driver'));
  if ((source.volumeHandle ?? '') === '') field.at('volumeHandle').required();
  for (const name of CSI_SECRETS) {
    const secret = source[name];
    if (secret !== undefined) validateSecretReference(secret, field.at(name));
  }
}

function validateSecretReference({ name = '', namespace = '' }: SecretReference, field: Field): void {
  if (name === '') field.at('name').required();
  else field.at('name').complain(name, isDns1123Subdomain(name));
  if (namespace === '') field.at('namespace').required();
  else field.at('namespace').complain(namespace, isDns1123Label(namespace));
}

/** Persistent volumes and claims. Upstream: apis/core/validation. */
import { stringifyJson } from '../codec/json.ts';
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  PersistentVolumeSpec,
} from '../gen/core-v1.ts';
import { isDns1123Subdomain } from '../names.ts';
import { compareQuantities, tryParseQuantity } from '../quantity.ts';
import { validateImmutable, validateLabelSelector, validateNodeSelector, validateOptionalChoice } from './common.ts';
import { validatePathNoBacksteps, validateVolumeSource } from './volume-sources.ts';

const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
const VOLUME_MODES = ['Block', 'Filesystem'];
const SOURCES = [
  'awsElasticBlockStore',
  'azureDisk',
  'azureFile',
  'cephfs',
  'cinder',
  'csi',
  'fc',
  'flexVolume',
  'flocker',
  'gcePersistentDisk',
  'glusterfs',
  'hostPath',
  'iscsi',
  'local',
  'nfs',
  'photonPersistentDisk',
  'portworxVolume',
  'quobyte',
  'rbd',
  'scaleIO',
  'storageos',
  'vsphereVolume',
] as const satisfies readonly (keyof PersistentVolumeSpec)[];

function validateAccessModes(modes: readonly string[] | undefined, field: Field): void {
  if ((modes ?? []).length === 0) return field.required('at least 1 access mode is required');
  for (const mode of modes!) if (!ACCESS_MODES.includes(mode)) field.notSupported(mode, ACCESS_MODES);
  if (modes!.includes('ReadWriteOncePod') && modes!.length > 1)
    field.forbidden('may not use ReadWriteOncePod with other access modes');
}

function validateStorage(quantity: string | undefined, field: Field): void {
  const parsed = tryParseQuantity(quantity);
  if (parsed === undefined) field.required();
  else if (parsed.nanos <= 0n) field.invalid(quantity, 'must be greater than zero');
}

function validateSource(spec: PersistentVolumeSpec, field: Field): void {
  const given = SOURCES.filter((source) => spec[source] !== undefined);
  if (given.length === 0) field.required('must specify a volume type');
  for (const extra of given.slice(1)) field.at(extra).forbidden('may not specify more than 1 volume type');
  for (const name of given) validateVolumeSource(name, spec[name]!, field);
  if (spec.hostPath !== undefined) {
    if ((spec.hostPath.path ?? '') === '') field.at('hostPath').at('path').required();
    else validatePathNoBacksteps(spec.hostPath.path, field.at('hostPath').at('path'));
    if (spec.hostPath.path === '/' && spec.persistentVolumeReclaimPolicy === 'Recycle')
      field.at('persistentVolumeReclaimPolicy').forbidden("may not be 'recycle' for a hostPath mount of '/'");
  }
  if (spec.local !== undefined) {
    if ((spec.local.path ?? '') === '') field.at('local').at('path').required();
    else validatePathNoBacksteps(spec.local.path, field.at('local').at('path'));
    if (spec.nodeAffinity === undefined) field.at('nodeAffinity').required('Local volume requires node affinity');
  }
  if (spec.nfs !== undefined) {
    if ((spec.nfs.server ?? '') === '') field.at('nfs').at('server').required();
    if (!(spec.nfs.path ?? '').startsWith('/'))
      field
        .at('nfs')
        .at('path')
        .invalid(spec.nfs.path ?? '', 'must be an absolute path');
  }
  if (spec.csi !== undefined && (spec.csi.volumeHandle ?? '') === '') field.at('csi').at('volumeHandle').required();
}

/** A volume. */
export function validatePersistentVolume(volume: PersistentVolume, field: Field): void {
  const place = field.at('spec');
  const spec = volume.spec ?? {};
  validateAccessModes(spec.accessModes, place.at('accessModes'));
  const capacity = spec.capacity ?? {};
  if (Object.keys(capacity).length === 0) place.at('capacity').required();
  else if (capacity['storage'] === undefined || Object.keys(capacity).length > 1)
    place.at('capacity').notSupported(capacity, ['storage']);
  else validateStorage(capacity['storage'], place.at('capacity').key('storage'));
  validateOptionalChoice(
    spec.persistentVolumeReclaimPolicy || undefined,
    ['Delete', 'Recycle', 'Retain'],
    place.at('persistentVolumeReclaimPolicy'),
  );
  if (spec.nodeAffinity !== undefined) {
    if (spec.nodeAffinity.required === undefined)
      place.at('nodeAffinity').at('required').required('must specify required node constraints');
    else validateNodeSelector(spec.nodeAffinity.required, place.at('nodeAffinity').at('required'));
  }
  validateSource(spec, place);
  if ((spec.storageClassName ?? '') !== '')
    place.at('storageClassName').complain(spec.storageClassName, isDns1123Subdomain(spec.storageClassName!));
  validateOptionalChoice(spec.volumeMode, VOLUME_MODES, place.at('volumeMode'));
}

function sourceOf(spec: PersistentVolumeSpec | undefined): unknown {
  return SOURCES.map((source) => spec?.[source]);
}

/** What a volume is never changes. */
export function validatePersistentVolumeUpdate(volume: PersistentVolume, old: PersistentVolume, field: Field): void {
  validatePersistentVolume(volume, field);
  const spec = field.at('spec');
  if (!deepEqual(sourceOf(volume.spec), sourceOf(old.spec)))
    spec.at('persistentvolumesource').forbidden('spec.persistentvolumesource is immutable after creation');
  validateImmutable(volume.spec?.volumeMode, old.spec?.volumeMode, spec.at('volumeMode'));
  if (old.spec?.nodeAffinity !== undefined)
    validateImmutable(volume.spec?.nodeAffinity, old.spec.nodeAffinity, spec.at('nodeAffinity'));
}

/** The spec of a claim, also of templates and ephemeral volumes. */
export function validatePersistentVolumeClaimSpec(spec: PersistentVolumeClaimSpec, field: Field): void {
  validateAccessModes(spec.accessModes, field.at('accessModes'));
  validateLabelSelector(spec.selector, field.at('selector'));
  validateStorage(spec.resources?.requests?.['storage'], field.at('resources').key('storage'));
  if ((spec.storageClassName ?? '') !== '')
    field.at('storageClassName').complain(spec.storageClassName, isDns1123Subdomain(spec.storageClassName!));
  validateOptionalChoice(spec.volumeMode, VOLUME_MODES, field.at('volumeMode'));
  for (const name of ['dataSource', 'dataSourceRef'] as const) {
    const source = spec[name];
    if (source === undefined) continue;
    if ((source.name ?? '') === '') field.at(name).at('name').required();
    if ((source.kind ?? '') === '') field.at(name).at('kind').required();
    if ((source.apiGroup ?? '') === '' && source.kind !== 'PersistentVolumeClaim')
      field.at(name).invalid(source.kind, '');
  }
}

/** A claim. */
export function validatePersistentVolumeClaim(claim: PersistentVolumeClaim, field: Field): void {
  validatePersistentVolumeClaimSpec(claim.spec ?? {}, field.at('spec'));
}

/** A claim never changes but to bind, and to grow once bound. */
export function validatePersistentVolumeClaimUpdate(
  claim: PersistentVolumeClaim,
  old: PersistentVolumeClaim,
  field: Field,
): void {
  validatePersistentVolumeClaim(claim, field);
  const place = field.at('spec');
  const mutable = { ...claim.spec };
  const before = { ...old.spec };
  if ((before.volumeName ?? '') === '') before.volumeName = mutable.volumeName;
  if (before.storageClassName === undefined) before.storageClassName = mutable.storageClassName;
  before.volumeAttributesClassName = mutable.volumeAttributesClassName;
  const [wanted, had] = [claim.spec?.resources?.requests?.['storage'], old.spec?.resources?.requests?.['storage']];
  const bound = old.status?.phase === 'Bound' && claim.status?.phase === 'Bound';
  if (bound && had !== undefined && wanted !== undefined) {
    mutable.resources = { ...mutable.resources, requests: { ...mutable.resources?.requests, storage: had } };
    const granted = old.status?.capacity?.['storage'];
    if (compareQuantities(wanted, had) < 0 && (granted === undefined || compareQuantities(wanted, granted) <= 0)) {
      place.at('resources').at('requests').at('storage').forbidden('field can not be less than status.capacity');
    }
  }
  if (!deepEqual(mutable, before)) {
    place.forbidden(
      `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${specDiff(claim.spec, old.spec)}`,
    );
  }
}

function specDiff(now: object | undefined, before: object | undefined): string {
  const keys = [...new Set([...Object.keys(before ?? {}), ...Object.keys(now ?? {})])].toSorted();
  const [a, b] = [before, now] as (Record<string, unknown> | undefined)[];
  return keys
    .filter((key) => !deepEqual(a?.[key], b?.[key]))
    .map((key) => `- ${key}: ${stringifyJson(a?.[key])}\n+ ${key}: ${stringifyJson(b?.[key])}`)
    .join('\n');
}

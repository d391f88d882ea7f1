/** Validation of pods' volumes. Upstream: apis/core/validation ValidateVolumes, validateVolumeSource. */
import type { Field } from '../field-error.ts';
import type { ImageVolumeSource, Volume } from '../gen/core-v1.ts';
import { isDns1123Label, isDns1123Subdomain } from '../names.ts';
import { tryParseQuantity } from '../quantity.ts';
import { validateChoice } from './common.ts';
import { validateHostPath, validateNfs } from './host-sources.ts';
import { validatePodIscsi } from './iscsi.ts';
import { validateClaimTemplate } from './persistent-volume-claim.ts';
import { validateFileVolumes } from './pod-volume-files.ts';
import { validateVolumeSource } from './volume-sources.ts';

/** Sources in upstream's order: the first that is set is validated, and each further one refused. */
const SOURCE_ORDER = [
  'emptyDir',
  'hostPath',
  'gitRepo',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'secret',
  'nfs',
  'iscsi',
  'glusterfs',
  'flocker',
  'persistentVolumeClaim',
  'rbd',
  'cinder',
  'cephfs',
  'quobyte',
  'downwardAPI',
  'fc',
  'flexVolume',
  'configMap',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'storageos',
  'projected',
  'scaleIO',
  'csi',
  'ephemeral',
  'image',
] as const;

const SOURCES: ReadonlySet<string> = new Set(SOURCE_ORDER);

/** Upstream's name of a refused source when it differs from the field's name. */
const REFUSED_NAMES: Readonly<Record<string, string>> = { cephfs: 'cephFS', downwardAPI: 'downwarAPI' };

export interface VolumeOwner {
  /** Absent for a template. */
  readonly podName: string | undefined;
}

/** Validates the volumes of a pod. Returns those without an error by name. */
export function validateVolumes(
  volumes: readonly Volume[] | undefined,
  owner: VolumeOwner,
  field: Field,
): Map<string, Volume> {
  const known = new Map<string, Volume>();
  const { podName = '' } = owner;
  const made = new Set(
    (volumes ?? []).filter(({ ephemeral }) => ephemeral !== undefined).map(({ name }) => `${podName}-${name}`),
  );
  for (const [index, volume] of (volumes ?? []).entries()) {
    const place = field.item(index);
    const before = field.errors.length;
    validateSource(volume, owner, place);
    if ((volume.name ?? '') === '') place.at('name').required();
    else place.at('name').complain(volume.name, isDns1123Label(volume.name));
    if (known.has(volume.name)) place.at('name').duplicate(volume.name);
    if (field.errors.length === before) known.set(volume.name, volume);
    const claimName = volume.persistentVolumeClaim?.claimName ?? '';
    if (podName !== '' && volume.persistentVolumeClaim !== undefined && made.has(claimName))
      place
        .at('persistentVolumeClaim')
        .at('claimName')
        .invalid(claimName, 'must not reference a PVC that gets created for an ephemeral volume');
  }
  return known;
}

function validateSource(volume: Volume, owner: VolumeOwner, field: Field): void {
  const [first, ...rest] = sourcesOf(volume);
  if (first === undefined) return field.required('must specify a volume type');
  validateVolumeSource(first, volume[first] as object, field);
  validateOne(rest.length === 0 ? volume : { [first]: volume[first], name: volume.name }, owner, field);
  for (const name of rest) field.at(REFUSED_NAMES[name] ?? name).forbidden('may not specify more than 1 volume type');
}

/** The sources that are set, in upstream's order. With a single source, the usual case, the order is not searched. */
function sourcesOf(volume: Volume): readonly (typeof SOURCE_ORDER)[number][] {
  const sources = Object.keys(volume).filter(
    (key): key is (typeof SOURCE_ORDER)[number] => SOURCES.has(key) && volume[key as keyof Volume] !== undefined,
  );
  return sources.length < 2 ? sources : SOURCE_ORDER.filter((name) => sources.includes(name));
}

/** Validates the sources that only pods have. */
function validateOne(volume: Volume, { podName }: VolumeOwner, field: Field): void {
  const { emptyDir, hostPath, persistentVolumeClaim: claim, nfs, image } = volume;
  validateFileVolumes(volume, field);
  if (emptyDir?.sizeLimit !== undefined && (tryParseQuantity(emptyDir.sizeLimit)?.nanos ?? 0n) < 0n)
    field.at('emptyDir').at('sizeLimit').forbidden('SizeLimit field must be a valid resource quantity');
  if (hostPath !== undefined) validateHostPath(hostPath, field.at('hostPath'));
  if (claim !== undefined && (claim.claimName ?? '') === '')
    field.at('persistentVolumeClaim').at('claimName').required();
  if (nfs !== undefined) validateNfs(nfs, field.at('nfs'));
  if (volume.iscsi !== undefined) validatePodIscsi(volume.iscsi, volume.name ?? '', field);
  if (volume.ephemeral !== undefined) validateEphemeral(volume, podName, field);
  if (image !== undefined) validateImage(image, podName !== undefined, field.at('image'));
}

function validateEphemeral(volume: Volume, podName: string | undefined, field: Field): void {
  const template = volume.ephemeral?.volumeClaimTemplate;
  const place = field.at('ephemeral').at('volumeClaimTemplate');
  if (template === undefined) place.required();
  else validateClaimTemplate(template, place);
  if ((podName ?? '') === '' || (volume.name ?? '') === '') return;
  const claimName = `${podName}-${volume.name}`;
  const problems = isDns1123Subdomain(claimName);
  field.at('name').complain(
    volume.name,
    problems.map((text) => `PVC name "${claimName}": ${text}`),
  );
}

/** The reference of an image volume may be empty in a template; the controller that creates the pod sets it. */
function validateImage({ reference = '', pullPolicy }: ImageVolumeSource, isPod: boolean, field: Field): void {
  if (isPod && reference === '') field.at('reference').required();
  validateChoice(pullPolicy, ['Always', 'IfNotPresent', 'Never'], field.at('pullPolicy'));
}

/** Volumes of pods and their mounts. Upstream: apis/core/validation ValidateVolumes, ValidateVolumeMounts. */
import type { Field } from '../field-error.ts';
import type {
  ClusterTrustBundleProjection,
  Container,
  DownwardAPIVolumeFile,
  EphemeralContainer,
  KeyToPath,
  Volume,
  VolumeMount,
  VolumeProjection,
} from '../gen/core-v1.ts';
import { isDns1123Label, isDns1123Subdomain } from '../names.ts';
import { validateSignerName } from './certificates.ts';
import { validateLabelSelector, validateNonnegativeQuantity, validateOptionalChoice } from './common.ts';
import { validatePersistentVolumeClaimSpec } from './persistent-volume.ts';
import { validateFieldRef, validateResourceFieldRef } from './pod-environment.ts';
import { validateLocalPath, validatePathNoBacksteps, validateVolumeSource } from './volume-sources.ts';

const HOST_PATH_TYPES = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];
const DOWNWARD_PATHS = [
  'metadata.name',
  'metadata.namespace',
  'metadata.labels',
  'metadata.annotations',
  'metadata.uid',
];
const MODE_TEXT = 'must be a number between 0 and 0777 (octal), both inclusive';

function validateMode(mode: number | undefined, field: Field): void {
  if (mode !== undefined && (mode < 0 || mode > 0o777)) field.invalid(mode, MODE_TEXT);
}

/** A path inside a volume that the kubelet writes: names starting with two dots are its own. */
function validateLocalFilePath(path: string, field: Field): void {
  validateLocalPath(path, field);
  if (path.startsWith('..') && !path.startsWith('../') && path !== '..')
    field.invalid(path, "must not start with '..'");
}

function validateItems(items: readonly KeyToPath[] | undefined, field: Field): void {
  for (const [index, item] of (items ?? []).entries()) {
    const place = field.item(index);
    if ((item.key ?? '') === '') place.at('key').required();
    if ((item.path ?? '') === '') place.at('path').required();
    else validateLocalFilePath(item.path, place.at('path'));
    validateMode(item.mode, place.at('mode'));
  }
}

function validateDownwardFiles(files: readonly DownwardAPIVolumeFile[] | undefined, field: Field): void {
  for (const [index, file] of (files ?? []).entries()) {
    const place = field.item(index);
    if ((file.path ?? '') === '') place.at('path').required();
    else validateLocalFilePath(file.path, place.at('path'));
    if (file.fieldRef !== undefined) {
      validateFieldRef(file.fieldRef, DOWNWARD_PATHS, place.at('fieldRef'));
      if (file.resourceFieldRef !== undefined)
        place.invalid('resource', 'fieldRef and resourceFieldRef can not be specified simultaneously');
    } else if (file.resourceFieldRef !== undefined) {
      validateResourceFieldRef(file.resourceFieldRef, true, place.at('resourceFieldRef'));
    } else {
      place.required('one of fieldRef and resourceFieldRef is required');
    }
    validateMode(file.mode, place.at('mode'));
  }
}

/** Everything that is put into one directory: no two files have one path. */
function validateProjections(sources: readonly VolumeProjection[], field: Field): void {
  const paths = new Set<string>();
  const taken = (path: string | undefined, who: string | undefined): void => {
    if (path !== undefined && paths.has(path)) field.invalid(who, 'conflicting duplicate paths');
    if (path) paths.add(path);
  };
  for (const [index, source] of sources.entries()) {
    validateProjection(source, field.at('sources').item(index));
    const { secret, configMap, downwardAPI, clusterTrustBundle } = source;
    for (const projection of [secret, configMap])
      for (const item of projection?.items ?? []) taken(item.path, projection?.name);
    for (const item of downwardAPI?.items ?? []) taken(item.path, item.path);
    if (clusterTrustBundle !== undefined) taken(clusterTrustBundle.path, clusterTrustBundle.path);
  }
}

function validateTrustBundle(bundle: ClusterTrustBundleProjection, field: Field): void {
  const { name, signerName, labelSelector, path = '' } = bundle;
  if (name !== undefined && signerName !== undefined)
    field.invalid(bundle, 'only one of name and signerName may be used');
  else if (name !== undefined) {
    if (name === '') field.at('name').required('must be a valid object name');
    if (labelSelector !== undefined)
      field.at('labelSelector').invalid(labelSelector, 'labelSelector must be unset if name is specified');
  } else if (signerName === undefined) field.required('either name or signerName must be specified');
  else if (signerName === '') field.at('signerName').required('must be a valid signer name');
  else {
    validateSignerName(signerName, field.at('signerName'));
    validateLabelSelector(labelSelector, field.at('labelSelector'));
  }
  if (path === '') field.at('path').required();
  else validateLocalFilePath(path, field.at('path'));
}

function validateProjection(source: VolumeProjection, field: Field): void {
  const given = Object.values(source).filter((one) => one !== undefined).length;
  if (given > 1) field.forbidden('may not specify more than 1 volume type');
  for (const name of ['secret', 'configMap'] as const) {
    const projection = source[name];
    if (projection === undefined) continue;
    if ((projection.name ?? '') === '') field.at(name).at('name').required();
    validateItems(projection.items, field.at(name).at('items'));
  }
  if (source.downwardAPI !== undefined)
    validateDownwardFiles(source.downwardAPI.items, field.at('downwardAPI').at('items'));
  if (source.clusterTrustBundle !== undefined)
    validateTrustBundle(source.clusterTrustBundle, field.at('clusterTrustBundle'));
  const token = source.serviceAccountToken;
  if (token === undefined) return;
  const place = field.at('serviceAccountToken');
  const seconds = token.expirationSeconds ?? 3600;
  if (seconds < 600) place.at('expirationSeconds').invalid(seconds, 'may not specify a duration less than 10 minutes');
  if (seconds > 2 ** 32)
    place.at('expirationSeconds').invalid(seconds, 'may not specify a duration larger than 2^32 seconds');
  if ((token.path ?? '') === '') place.at('path').required();
  else validateLocalFilePath(token.path, place.at('path'));
}

function validateFileVolumes(volume: Volume, field: Field): void {
  if (volume.secret !== undefined) {
    if ((volume.secret.secretName ?? '') === '') field.at('secret').at('secretName').required();
    validateMode(volume.secret.defaultMode, field.at('secret').at('defaultMode'));
    validateItems(volume.secret.items, field.at('secret').at('items'));
  }
  if (volume.configMap !== undefined) {
    if ((volume.configMap.name ?? '') === '') field.at('configMap').at('name').required();
    validateMode(volume.configMap.defaultMode, field.at('configMap').at('defaultMode'));
    validateItems(volume.configMap.items, field.at('configMap').at('items'));
  }
  if (volume.downwardAPI !== undefined) {
    validateMode(volume.downwardAPI.defaultMode, field.at('downwardAPI').at('defaultMode'));
    validateDownwardFiles(volume.downwardAPI.items, field.at('downwardAPI').at('items'));
  }
  if (volume.projected !== undefined) {
    validateMode(volume.projected.defaultMode, field.at('projected').at('defaultMode'));
    validateProjections(volume.projected.sources ?? [], field.at('projected'));
  }
}

function validateSources(volume: Volume, field: Field): void {
  validateFileVolumes(volume, field);
  if (volume.emptyDir?.sizeLimit !== undefined)
    validateNonnegativeQuantity(volume.emptyDir.sizeLimit, field.at('emptyDir').at('sizeLimit'));
  if (volume.hostPath !== undefined) {
    if ((volume.hostPath.path ?? '') === '') field.at('hostPath').at('path').required();
    else validatePathNoBacksteps(volume.hostPath.path, field.at('hostPath').at('path'));
    validateOptionalChoice(volume.hostPath.type, HOST_PATH_TYPES, field.at('hostPath').at('type'));
  }
  if (volume.persistentVolumeClaim !== undefined && (volume.persistentVolumeClaim.claimName ?? '') === '') {
    field.at('persistentVolumeClaim').at('claimName').required();
  }
  if (volume.nfs !== undefined) {
    if ((volume.nfs.server ?? '') === '') field.at('nfs').at('server').required();
    if ((volume.nfs.path ?? '') === '') field.at('nfs').at('path').required();
    else if (!volume.nfs.path.startsWith('/'))
      field.at('nfs').at('path').invalid(volume.nfs.path, 'must be an absolute path');
  }
  if (volume.ephemeral !== undefined) {
    const template = volume.ephemeral.volumeClaimTemplate;
    if (template === undefined) field.at('ephemeral').at('volumeClaimTemplate').required();
    else
      validatePersistentVolumeClaimSpec(
        template.spec ?? {},
        field.at('ephemeral').at('volumeClaimTemplate').at('spec'),
      );
  }
  if (volume.image !== undefined) {
    if ((volume.image.reference ?? '') === '') field.at('image').at('reference').required();
    validateOptionalChoice(
      volume.image.pullPolicy || undefined,
      ['Always', 'IfNotPresent', 'Never'],
      field.at('image').at('pullPolicy'),
    );
  }
}

/** Volumes of a pod. Returns them by name. */
export function validateVolumes(
  volumes: readonly Volume[] | undefined,
  podName: string,
  field: Field,
): Map<string, Volume> {
  const known = new Map<string, Volume>();
  for (const [index, volume] of (volumes ?? []).entries()) {
    const place = field.item(index);
    const sources = Object.keys(volume).filter((key) => key !== 'name' && volume[key as keyof Volume] !== undefined);
    if (sources.length === 0) place.required('must specify a volume type');
    for (const extra of sources.slice(1)) place.at(extra).forbidden('may not specify more than 1 volume type');
    for (const name of sources) validateVolumeSource(name, volume[name as keyof Volume] as object, place);
    if (sources.length > 0) validateSources(volume, place);
    if ((volume.name ?? '') === '') place.at('name').required();
    else if (isDns1123Label(volume.name).length > 0)
      place.at('name').complain(volume.name, isDns1123Label(volume.name));
    else if (known.has(volume.name)) place.at('name').duplicate(volume.name);
    if (volume.ephemeral !== undefined && podName !== '') {
      place.at('name').complain(
        volume.name,
        isDns1123Subdomain(`${podName}-${volume.name}`).map((text) => `PVC name "${podName}-${volume.name}": ${text}`),
      );
    }
    known.set(volume.name, volume);
  }
  return known;
}

function validateMount(mount: VolumeMount, container: Container | EphemeralContainer, field: Field): void {
  const { subPath = '', subPathExpr = '', mountPropagation } = mount;
  if (subPath !== '') validateLocalPath(subPath, field.at('subPath'));
  if (subPathExpr !== '') {
    if (subPath !== '') field.at('subPathExpr').invalid(subPathExpr, 'subPathExpr and subPath are mutually exclusive');
    validateLocalPath(subPathExpr, field.at('subPathExpr'));
  }
  validateOptionalChoice(mountPropagation, ['Bidirectional', 'HostToContainer', 'None'], field.at('mountPropagation'));
  if (mountPropagation === 'Bidirectional' && container.securityContext?.privileged !== true) {
    field
      .at('mountPropagation')
      .forbidden('Bidirectional mount propagation is available only to privileged containers');
  }
  const recursive = mount.recursiveReadOnly;
  validateOptionalChoice(recursive, ['Disabled', 'Enabled', 'IfPossible'], field.at('recursiveReadOnly'));
  if (recursive === undefined || recursive === 'Disabled') return;
  if (mount.readOnly !== true) field.at('recursiveReadOnly').forbidden('may only be specified when readOnly is true');
  if (mountPropagation !== undefined && mountPropagation !== 'None')
    field.at('recursiveReadOnly').forbidden('may only be specified when mountPropagation is None or not specified');
}

/** Mounts and devices of a container. */
export function validateMounts(
  container: Container | EphemeralContainer,
  volumes: ReadonlyMap<string, Volume>,
  field: Field,
): void {
  const paths = new Set<string>();
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const place = field.at('volumeMounts').item(index);
    if ((mount.name ?? '') === '') place.at('name').required();
    else if (!volumes.has(mount.name)) place.at('name').notFound(mount.name);
    if ((mount.mountPath ?? '') === '') place.at('mountPath').required();
    if (paths.has(mount.mountPath)) place.at('mountPath').invalid(mount.mountPath, 'must be unique');
    paths.add(mount.mountPath);
    validateMount(mount, container, place);
  }
  for (const [index, device] of (container.volumeDevices ?? []).entries()) {
    const place = field.at('volumeDevices').item(index);
    if ((device.name ?? '') === '') place.at('name').required();
    else if (!volumes.has(device.name)) place.at('name').notFound(device.name);
    if ((device.devicePath ?? '') === '') place.at('devicePath').required();
    else validatePathNoBacksteps(device.devicePath, place.at('devicePath'));
    if (paths.has(device.devicePath))
      place.at('devicePath').invalid(device.devicePath, 'must not already exist as a path in volumeMounts');
    paths.add(device.devicePath);
  }
}

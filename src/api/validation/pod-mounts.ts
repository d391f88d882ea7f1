/**
 * Validation of containers' volume mounts and devices. Upstream: apis/core/validation ValidateVolumeMounts,
 * ValidateVolumeDevices.
 */
import type { Field } from '../field-error.ts';
import type { Container, EphemeralContainer, Volume, VolumeMount } from '../gen/core-v1.ts';
import { validateOptionalChoice } from './common.ts';
import { validateLocalPath } from './volume-sources.ts';

type Mounting = Container | EphemeralContainer;

export function validateMounts(container: Mounting, volumes: ReadonlyMap<string, Volume>, field: Field): void {
  validateVolumeMounts(container, volumes, field.at('volumeMounts'));
  validateVolumeDevices(container, volumes, field.at('volumeDevices'));
}

function validateVolumeMounts(container: Mounting, volumes: ReadonlyMap<string, Volume>, field: Field): void {
  const { volumeMounts = [], volumeDevices = [] } = container;
  const paths = new Set<string>();
  // As in upstream's map, the last device of a name counts.
  const devices = new Map(volumeDevices.map(({ name, devicePath }) => [name, devicePath]));
  const devicePaths = new Set(devices.values());
  for (const [index, mount] of volumeMounts.entries()) {
    const place = field.item(index);
    const { name = '', mountPath = '' } = mount;
    if (name === '') place.at('name').required();
    if (!volumes.has(name)) place.at('name').notFound(name);
    if (mountPath === '') place.at('mountPath').required();
    if (paths.has(mountPath)) place.at('mountPath').invalid(mountPath, 'must be unique');
    paths.add(mountPath);
    if (devices.has(name)) place.at('name').invalid(name, 'must not already exist in volumeDevices');
    if (devicePaths.has(mountPath))
      place.at('mountPath').invalid(mountPath, 'must not already exist as a path in volumeDevices');
    validateMount([index, mount], container, field);
  }
}

/** As upstream, some errors of a mount are reported at the list, without the index. */
function validateMount([index, mount]: readonly [number, VolumeMount], container: Mounting, field: Field): void {
  const { subPath = '', subPathExpr = '', mountPropagation } = mount;
  if (subPath !== '') validateLocalPath(subPath, field.at('subPath'));
  if (subPathExpr !== '') {
    if (subPath !== '')
      field.item(index).at('subPathExpr').invalid(subPathExpr, 'subPathExpr and subPath are mutually exclusive');
    validateLocalPath(subPathExpr, field.at('subPathExpr'));
  }
  const propagation = field.at('mountPropagation');
  validateOptionalChoice(mountPropagation, ['Bidirectional', 'HostToContainer', 'None'], propagation);
  if (mountPropagation === 'Bidirectional' && container.securityContext?.privileged !== true)
    propagation.forbidden('Bidirectional mount propagation is available only to privileged containers');
  validateRecursiveReadOnly(mount, field.at('recursiveReadOnly'));
}

function validateRecursiveReadOnly(mount: VolumeMount, field: Field): void {
  const { recursiveReadOnly: mode, mountPropagation, readOnly } = mount;
  if (mode === undefined || mode === 'Disabled') return;
  if (mode !== 'Enabled' && mode !== 'IfPossible')
    return field.notSupported(mode, ['Disabled', 'Enabled', 'IfPossible']);
  if (readOnly !== true) field.forbidden('may only be specified when readOnly is true');
  if (mountPropagation !== undefined && mountPropagation !== 'None')
    field.forbidden('may only be specified when mountPropagation is None or not specified');
}

function isBlock(volume: Volume): boolean {
  return volume.persistentVolumeClaim !== undefined || volume.ephemeral !== undefined;
}

function validateVolumeDevices(container: Mounting, volumes: ReadonlyMap<string, Volume>, field: Field): void {
  if ((container.volumeDevices ?? []).length === 0) return;
  const mounts = new Map((container.volumeMounts ?? []).map(({ name, mountPath }) => [name, mountPath]));
  const mountPaths = new Set(mounts.values());
  const [paths, names] = [new Set<string>(), new Set<string>()];
  for (const [index, { name = '', devicePath = '' }] of (container.volumeDevices ?? []).entries()) {
    const [nameAt, pathAt] = [field.item(index).at('name'), field.item(index).at('devicePath')];
    const volume = volumes.get(name);
    if (name === '') nameAt.required();
    if (names.has(name)) nameAt.invalid(name, 'must be unique');
    if (volume === undefined) nameAt.notFound(name);
    else if (!isBlock(volume))
      nameAt.invalid(name, 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode');
    if (devicePath === '') pathAt.required();
    if (paths.has(devicePath)) pathAt.invalid(devicePath, 'must be unique');
    if (devicePath.split('/').includes('..')) pathAt.invalid(devicePath, "can not contain backsteps ('..')");
    else paths.add(devicePath);
    if (mounts.has(name)) nameAt.invalid(name, 'must not already exist in volumeMounts');
    if (mountPaths.has(devicePath)) pathAt.invalid(devicePath, 'must not already exist as a path in volumeMounts');
    if (name !== '') names.add(name);
  }
}

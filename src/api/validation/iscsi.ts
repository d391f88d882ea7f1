/**
 * Validation of iSCSI volumes of pods and persistent volumes. Upstream: validateISCSIVolumeSource,
 * validateISCSIPersistentVolumeSource.
 */
import type { Field } from '../field-error.ts';
import type { ISCSIPersistentVolumeSource, ISCSIVolumeSource } from '../gen/core-v1.ts';
import { validateLun } from './volume-sources.ts';

const WRONG_FORM = 'must be valid format';
const NAMES = [
  /^iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+:[^,;*&$|\s]+$/,
  /^eui.[A-Za-z0-9]{16}$/,
  /^naa.[A-Za-z0-9]{32}$/,
] as const;

/** The limit of `<volume name>:<target portal>`, by which the node names a separate interface. */
const MAX_INTERFACE_NAME = 64;
const TOO_LONG =
  'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.';

/** `field`: the field of the volume. */
export function validatePodIscsi(source: ISCSIVolumeSource, volumeName: string, field: Field): void {
  validateIscsi(source, `${WRONG_FORM} starting with iqn, eui, or naa`, field.at('iscsi'));
  if (hasLongInterfaceName(source, volumeName)) field.at('name').invalid(volumeName, TOO_LONG);
}

/** `field`: the field of the persistent volume's spec. */
export function validatePersistentIscsi(source: ISCSIPersistentVolumeSource, volumeName: string, field: Field): void {
  const at = field.at('iscsi');
  if (hasLongInterfaceName(source, volumeName)) at.at('targetportal').invalid(source.targetPortal, TOO_LONG);
  validateIscsi(source, WRONG_FORM, at);
  if (source.secretRef !== undefined && (source.secretRef.name ?? '') === '') at.at('secretRef').at('name').required();
}

function hasLongInterfaceName(
  { initiatorName, targetPortal = '' }: Pick<ISCSIVolumeSource, 'initiatorName' | 'targetPortal'>,
  volumeName: string,
): boolean {
  return initiatorName !== undefined && Buffer.byteLength(`${volumeName}:${targetPortal}`) > MAX_INTERFACE_NAME;
}

/** `wrongStart`: the error for a name without a known prefix. */
function validateIscsi(
  source: ISCSIVolumeSource | ISCSIPersistentVolumeSource,
  wrongStart: string,
  field: Field,
): void {
  const { iqn = '', lun = 0, initiatorName, secretRef } = source;
  const validateName = (name: string, at: Field): void => {
    if (!/^(iqn|eui|naa)/.test(name)) at.invalid(name, wrongStart);
    else if (!NAMES.some((form) => form.test(name))) at.invalid(name, WRONG_FORM);
  };
  if (iqn !== '') validateName(iqn, field.at('iqn'));
  validateLun(lun, field);
  if ((source.chapAuthDiscovery === true || source.chapAuthSession === true) && secretRef === undefined)
    field.at('secretRef').required();
  if (initiatorName !== undefined) validateName(initiatorName, field.at('initiatorname'));
}

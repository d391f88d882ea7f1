/** Validation of host paths and NFS shares in pods and persistent volumes. Upstream: apis/core/validation. */
import type { Field } from '../field-error.ts';
import type { HostPathVolumeSource, NFSVolumeSource } from '../gen/core-v1.ts';
import { validateOptionalChoice } from './common.ts';
import { validatePathNoBacksteps } from './volume-sources.ts';

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

export function validateHostPath({ path = '', type }: Partial<HostPathVolumeSource>, field: Field): void {
  if (path === '') return field.at('path').required();
  validatePathNoBacksteps(path, field.at('path'));
  validateOptionalChoice(type, HOST_PATH_TYPES, field.at('type'));
}

export function validateNfs({ server = '', path = '' }: Partial<NFSVolumeSource>, field: Field): void {
  if (server === '') field.at('server').required();
  if (path === '') field.at('path').required();
  if (!path.startsWith('/')) field.at('path').invalid(path, 'must be an absolute path');
}

/** Validation of volume attachments. Upstream: apis/storage/validation. */
import type { Field } from '../field-error.ts';
import type { VolumeAttachment, VolumeAttachmentSource, VolumeError } from '../gen/storage-v1.ts';
import { inclusiveRangeText, isDns1123Subdomain } from '../names.ts';
import { validateImmutableStruct } from './common.ts';
import { validateCSIDriverName } from './csi.ts';
import { validateInlineVolume } from './persistent-volume.ts';

const MAX_METADATA_BYTES = 256 * 1024;
const MAX_MESSAGE_BYTES = 1024;
const ONE_SOURCE_TEXT = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';

function validateSource({ inlineVolumeSpec, persistentVolumeName }: VolumeAttachmentSource, field: Field): void {
  if (inlineVolumeSpec === undefined && persistentVolumeName === undefined) field.required(ONE_SOURCE_TEXT);
  else if (inlineVolumeSpec !== undefined && persistentVolumeName !== undefined) field.forbidden(ONE_SOURCE_TEXT);
  else if (inlineVolumeSpec !== undefined) validateInlineVolume(inlineVolumeSpec, field.at('inlineVolumeSpec'));
  else if (persistentVolumeName === '')
    field.at('persistentVolumeName').required('must specify non empty persistentVolumeName');
}

function validateError(error: VolumeError | undefined, field: Field): void {
  if (error === undefined) return;
  // As upstream, the limit in the error differs from the limit that is checked.
  if (Buffer.byteLength(error.message ?? '') > MAX_MESSAGE_BYTES) field.at('message').tooLong(MAX_METADATA_BYTES);
  const { errorCode = 0 } = error;
  if (errorCode < 0) field.at('errorCode').invalid(errorCode, inclusiveRangeText(0, 2 ** 31 - 1));
}

export function validateVolumeAttachment(attachment: VolumeAttachment, field: Field): void {
  const { attacher, source = {}, nodeName = '' } = attachment.spec ?? {};
  const spec = field.at('spec');
  validateCSIDriverName(attacher, spec.at('attacher'));
  validateSource(source, spec.at('source'));
  spec.at('nodeName').complain(nodeName, isDns1123Subdomain(nodeName));
  const { attachmentMetadata = {}, attachError, detachError } = attachment.status ?? {};
  const status = field.at('status');
  const bytes = Object.entries(attachmentMetadata)
    .flat()
    .map((text) => Buffer.byteLength(text));
  if (bytes.reduce((sum, length) => sum + length, 0) > MAX_METADATA_BYTES)
    status.at('attachmentMetadata').tooLong(MAX_METADATA_BYTES);
  validateError(attachError, status.at('attachError'));
  validateError(detachError, status.at('detachError'));
  const { persistentVolumeName: name } = source;
  if (name !== undefined) spec.at('source').at('persistentVolumeName').complain(name, isDns1123Subdomain(name));
}

/** The spec of an attachment is immutable. */
export function validateVolumeAttachmentUpdate(
  attachment: VolumeAttachment,
  old: VolumeAttachment,
  field: Field,
): void {
  validateVolumeAttachment(attachment, field);
  validateImmutableStruct([attachment.spec, old.spec], 'storage.v1.VolumeAttachmentSpec', field.at('spec'));
}

/**
 * Waits until a volume is attached to this node, or requests its attachment where no controller does. Upstream:
 * pkg/volume/csi/csi_attacher.go, verifyControllerAttachedVolume.
 *
 * Invariant: nothing is mounted before the node's status lists the volume both as in use (so that the controller does
 * not detach it) and as attached. Differs: informers are checked every half second, and there is no deadline; the
 * pod's own wait reports what is missing, and ends with the pod.
 */
import { VolumeAttachments } from '../../../api/gen/resources.ts';
import type { VolumeAttachment, VolumeAttachmentSource } from '../../../api/gen/storage-v1.ts';
import { isReason, ignoreNotFound } from '../../../api/status-error.ts';
import type { CsiContext } from './csi-context.ts';

const POLL_MS = 500;

export interface AttachRequest {
  readonly driver: string;
  readonly handle: string;
  readonly attachmentName: string;
  readonly source: VolumeAttachmentSource;
  readonly signal: AbortSignal;
}

/** Unique name of an attachable volume in a node's status. */
export function uniqueCsiName(driver: string, handle: string): string {
  return `kubernetes.io/csi/${driver}^${handle}`;
}

/**
 * Resolves to the attachment's metadata (the driver's publish context). Rejects on abort, and when the request is
 * refused.
 */
export async function waitUntilAttached(
  context: CsiContext,
  request: AttachRequest,
): Promise<Readonly<Record<string, string>>> {
  const { clock } = context.platform;
  for (;;) {
    if (context.attachesItself || isListed(context, request)) {
      const volumeAttachment = context.attachesItself
        ? await ensureAttachment(context, request)
        : await getAttachment(context, request.attachmentName);
      if (volumeAttachment?.status?.attached === true) return volumeAttachment.status.attachmentMetadata ?? {};
      if (context.attachesItself && volumeAttachment?.status?.attachError?.message !== undefined)
        throw new AttachError(volumeAttachment.status.attachError.message);
    }
    await clock.sleep(POLL_MS, request.signal);
  }
}

/** The driver could not attach it. */
export class AttachError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AttachError';
  }
}

/** Deletes the attachment that `waitUntilAttached` created. */
export async function removeAttachment(context: CsiContext, name: string): Promise<void> {
  await context.client.resource(VolumeAttachments).delete({ name }).catch(ignoreNotFound);
}

function isListed({ ownNode }: CsiContext, { driver, handle }: AttachRequest): boolean {
  const { volumesAttached = [], volumesInUse = [] } = ownNode()?.status ?? {};
  const unique = uniqueCsiName(driver, handle);
  return volumesInUse.includes(unique) && volumesAttached.some(({ name }) => name === unique);
}

async function getAttachment({ client }: CsiContext, name: string): Promise<VolumeAttachment | undefined> {
  try {
    return await client.resource(VolumeAttachments).get({ name });
  } catch (error) {
    if (isReason(error, 'NotFound')) return undefined;
    throw error;
  }
}

async function ensureAttachment(context: CsiContext, request: AttachRequest): Promise<VolumeAttachment | undefined> {
  const volumeAttachment = await getAttachment(context, request.attachmentName);
  if (volumeAttachment !== undefined) return volumeAttachment;
  try {
    return await context.client.resource(VolumeAttachments).create({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttachment',
      metadata: { name: request.attachmentName },
      spec: {
        attacher: request.driver,
        nodeName: context.nodeName,
        source: request.source,
      },
    });
  } catch (error) {
    if (isReason(error, 'AlreadyExists')) return undefined;
    throw error;
  }
}

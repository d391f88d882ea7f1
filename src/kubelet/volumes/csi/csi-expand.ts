/**
 * Expands the file system of a volume that has grown, and updates its claim's status. Upstream: NodeExpandVolume in
 * pkg/volume/util/operationexecutor/node_expander.go.
 */
import type { PersistentVolumeClaim, Pod } from '../../../api/gen/core-v1.ts';
import { PersistentVolumeClaims } from '../../../api/gen/resources.ts';
import { compareQuantities, quantityValue } from '../../../api/quantity.ts';
import { errorMessage } from '../../../base/errors.ts';
import { secretValues } from '../secret-values.ts';
import type { SetUpRequest } from '../volume-plugin.ts';
import type { CsiNodeClient, VolumeCapability } from './csi-client.ts';
import type { CsiContext } from './csi-context.ts';

import { capacityOf, type CsiVolume } from './csi-volume.ts';

const DONE_CONDITIONS: ReadonlySet<string> = new Set(['Resizing', 'FileSystemResizePending']);

export interface ExpandTarget {
  readonly request: SetUpRequest;
  readonly volume: CsiVolume;
  readonly client: CsiNodeClient;
  readonly volumeCapability: VolumeCapability;
  readonly volumePath: string;
}

/** Does nothing unless the volume is larger than its claim's status and the driver can expand it. Rejects when the driver fails. */
export async function expandIfGrown(context: CsiContext, target: ExpandTarget): Promise<void> {
  const { volume, request, client } = target;
  const { claim, persistentVolume } = request.spec;
  const capacity = capacityOf(persistentVolume);
  if (claim === undefined || capacity === undefined || volume.readOnly || !isSmaller(claim, capacity)) return;
  if (!(await client.hasCapability('EXPAND_VOLUME'))) return;
  const name = persistentVolume?.metadata.name ?? '';
  try {
    await client.nodeExpandVolume({
      volumeId: volume.handle,
      volumePath: target.volumePath,
      stagingTargetPath: context.records.stagingPath(volume.driver, volume.handle),
      capacityRange: { requiredBytes: quantityValue(capacity) },
      volumeCapability: target.volumeCapability,
      secrets: await secretValues(context.client, volume.expandSecret),
    });
  } catch (error) {
    const text = errorMessage(error);
    const message = `NodeExpandVolume.NodeExpandVolume failed for volume "${name}" : Expander.NodeExpand failed to expand the volume : ${text}`;
    context.recorder.event(request.pod, 'Warning', 'VolumeResizeFailed', message);
    throw error;
  }
  await claimHasGrown(context, claim, capacity);
  recordSuccess(context, { pod: request.pod, claim, name });
}

function isSmaller(claim: PersistentVolumeClaim, capacity: string): boolean {
  return compareQuantities(claim.status?.capacity?.['storage'] ?? '0', capacity) < 0;
}

async function claimHasGrown({ client }: CsiContext, claim: PersistentVolumeClaim, storage: string): Promise<void> {
  const { namespace = '', name = '' } = claim.metadata;
  const conditions = (claim.status?.conditions ?? []).filter(({ type }) => !DONE_CONDITIONS.has(type));
  const { storage: _resized, ...statuses } = claim.status?.allocatedResourceStatuses ?? {};
  const status = {
    capacity: { ...claim.status?.capacity, storage },
    conditions: conditions.length === 0 ? null : conditions,
    allocatedResourceStatuses: Object.keys(statuses).length === 0 ? null : statuses,
  };
  await client
    .resource(PersistentVolumeClaims)
    .patch({ namespace, name }, { type: 'merge', patch: { status } }, { subresource: 'status' });
}

function recordSuccess(
  { recorder, nodeName }: CsiContext,
  { pod, claim, name }: { pod: Pod; claim: PersistentVolumeClaim; name: string },
): void {
  const message = `MountVolume.NodeExpandVolume succeeded for volume "${name}" ${nodeName}`;
  recorder.event(pod, 'Normal', 'FileSystemResizeSuccessful', message);
  recorder.event(claim, 'Normal', 'FileSystemResizeSuccessful', message);
}

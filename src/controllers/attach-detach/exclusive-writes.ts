import { Nodes, VolumeAttachments } from '../../api/gen/resources.ts';
import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Attachments, and which volumes a node is told it has. */
export const attachDetachWrites: ExclusiveWrites = {
  account: 'attachdetach-controller',
  writes: [
    { resource: VolumeAttachments, creates: true },
    { resource: Nodes, fields: [['status', 'volumesAttached']] },
  ],
};

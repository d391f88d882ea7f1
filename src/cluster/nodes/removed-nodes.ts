/** What becomes of nodes that a start with fewer takes away. Each step is made again by the next start where this one ends in between. */
import { isReason } from '../../api/status-error.ts';
import { Nodes } from '../../api/gen/resources.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';
import type { Platform } from '../../platform/platform.ts';
import { NamespaceNode, type NodesSetting } from './namespace-node.ts';
import type { NodeRecords } from './node-records.ts';

/** Ends them in order and deletes their data; what cannot be done is logged. */
export async function takeAwayRemoved(platform: Platform, setting: NodesSetting, records: NodeRecords): Promise<void> {
  for (const entry of records.file.removed ?? []) {
    const node = new NamespaceNode(platform, setting, entry);
    try {
      await node.stop();
      await platform.files.remove(node.place.dataDir);
    } catch (error) {
      platform.log.error('cannot remove a node of this machine', { node: entry.name, reason: errorMessage(error) });
    }
  }
}

/** Deletes their objects once the API answers. */
export async function deleteRemoved(platform: Platform, records: NodeRecords, admin: Client): Promise<void> {
  for (const { name } of records.file.removed ?? []) {
    try {
      await admin
        .resource(Nodes)
        .delete({ name })
        .catch((error: unknown) => {
          if (!isReason(error, 'NotFound')) throw error;
        });
      const { removed = [] } = records.file;
      const left = removed.filter((entry) => entry.name !== name);
      await records.change({ removed: left.length === 0 ? undefined : left });
    } catch (error) {
      platform.log.error('cannot delete the object of a node that was removed', {
        node: name,
        reason: errorMessage(error),
      });
    }
  }
}

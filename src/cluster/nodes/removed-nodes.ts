/** What becomes of nodes that a start with fewer takes away. Each step is made again by the next start where this one ends in between. */
import { isReason } from '../../api/status-error.ts';
import { Nodes } from '../../api/gen/resources.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';
import type { Platform } from '../../platform/platform.ts';
import { NamespaceNode, type NodesSetting } from './namespace-node.ts';
import type { NodeRecords } from './node-records.ts';

/**
 * Ends them in order and deletes their data; what cannot be done is logged. Resolves to the names of those that are gone from
 * the machine.
 */
export async function takeAwayRemoved(
  platform: Platform,
  setting: NodesSetting,
  records: NodeRecords,
): Promise<readonly string[]> {
  const gone: string[] = [];
  for (const entry of records.file.removed ?? []) {
    const node = new NamespaceNode(platform, setting, entry);
    try {
      await node.stop();
      await platform.files.remove(node.place.dataDir);
      gone.push(entry.name);
    } catch (error) {
      platform.log.error('cannot remove a node of this machine', { node: entry.name, reason: errorMessage(error) });
    }
  }
  return gone;
}

/** Deletes the objects of those that are gone once the API answers, and forgets them. */
export async function deleteRemoved(
  platform: Platform,
  { records, gone }: { readonly records: NodeRecords; readonly gone: readonly string[] },
  admin: Client,
): Promise<void> {
  for (const name of gone) {
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

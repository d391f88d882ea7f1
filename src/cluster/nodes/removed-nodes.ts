/**
 * Removes the nodes that a start with fewer nodes no longer has. Every step is repeated by the next start when this
 * one is interrupted.
 */
import { isReason } from '../../api/status-error.ts';
import { Nodes } from '../../api/gen/resources.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';
import type { Platform } from '../../platform/platform.ts';
import { NamespaceNode, type NodesSetting } from './namespace-node.ts';
import type { NodeRecords } from './node-records.ts';
import type { NodesFile } from './nodes-file.ts';

/**
 * Ends the nodes in order and deletes their data; failures are logged. Resolves to the names of those that are gone
 * from the machine.
 */
export async function removeNodes(
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

/**
 * Keeps nodes that could not be removed but are wanted again, with their data. Otherwise the next start would remove
 * what this one creates in their place.
 */
export function keepWantedNodes({ nodes, removed = [] }: NodesFile, gone: readonly string[]): Partial<NodesFile> {
  const left = removed.filter(({ name }) => !gone.includes(name));
  const nodeEntries = nodes.map((entry) => left.find(({ number }) => number === entry.number) ?? entry);
  const stillRemoved = removed.filter((entry) => !nodeEntries.includes(entry));
  return { nodes: nodeEntries, removed: stillRemoved.length === 0 ? undefined : stillRemoved };
}

/** Deletes the objects of removed nodes once the API answers, and the nodes from the record. */
export async function deleteNodeObjects(
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

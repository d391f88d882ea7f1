/**
 * The further nodes of a cluster whose server does not run. The nodes may run: they outlive a killed server. A user's
 * action is performed on running nodes and recorded for the next start.
 */
import type { Platform } from '../../platform/platform.ts';
import { lockDataDir } from '../instance/control-socket.ts';
import { readInstanceFile } from '../instance/instance-file.ts';
import { deriveInstance } from '../instance/instance.ts';
import { supervisorOf } from '../instance/supervisor-record.ts';
import { PreflightError } from '../preflight-error.ts';
import type { NodeAction } from './node-actions.ts';
import { actOn } from './node-acts.ts';
import { NamespaceNode } from './namespace-node.ts';
import { NodeRecords } from './node-records.ts';
import { statusOf, type NodeStatus } from './node-status.ts';
import { readNodesFile } from './nodes-file.ts';

interface OfflineNodes {
  readonly records: NodeRecords;
  readonly nodes: readonly NamespaceNode[];
}

/** The nodes' statuses; undefined for a cluster that never had further nodes. */
export async function offlineStatus(platform: Platform, dataDir: string): Promise<readonly NodeStatus[] | undefined> {
  const offlineNodes = await readNodes(platform, dataDir);
  if (offlineNodes === undefined) return undefined;
  return Promise.all(offlineNodes.nodes.map(async (node) => statusOf(node, !(await node.isAlive()))));
}

/** Resolves to a line about what was done. Rejects with `PreflightError` when the action is refused. */
export async function actOffline(
  platform: Platform,
  dataDir: string,
  { action, name }: { readonly action: NodeAction; readonly name: string },
): Promise<string> {
  if ((await readNodes(platform, dataDir)) === undefined)
    throw new PreflightError('this cluster has no further nodes on this machine (keelson up --nodes 3)');
  // A server that starts reads the record before or after this; the lock is held only briefly.
  if (supervisorOf(dataDir) !== undefined)
    throw new PreflightError('the cluster is starting again; try again when it runs');
  const lock = lockDataDir(dataDir);
  if (lock === undefined) throw new PreflightError('the cluster is starting; try again when it runs');
  try {
    const { records, nodes } = (await readNodes(platform, dataDir))!;
    const node = nodes.find(({ place }) => place.name === name);
    if (node === undefined)
      throw new PreflightError(
        `there is no node ${name} here; nodes: ${nodes.map(({ place }) => place.name).join(', ')}`,
      );
    const start = (): Promise<string> => Promise.resolve(`${name} starts with the cluster (keelson up)`);
    return await actOn(action, { node, records, start });
  } finally {
    lock.release();
  }
}

async function readNodes(platform: Platform, dataDir: string): Promise<OfflineNodes | undefined> {
  const { crypto, files } = platform;
  const [instanceFile, file] = [await readInstanceFile(files, dataDir), await readNodesFile(files, dataDir)];
  if (instanceFile === undefined || file === undefined) return undefined;
  const instance = deriveInstance({ ...instanceFile, dataDir }, (text) => crypto.sha256Hex(text));
  const setting = { instance, network: file.network, hostAddress: '', command: () => [] };
  return {
    records: new NodeRecords(files, dataDir, file),
    nodes: file.nodes.map((entry) => new NamespaceNode(platform, setting, entry)),
  };
}

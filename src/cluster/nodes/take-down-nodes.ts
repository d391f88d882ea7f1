/** `keelson down` for a cluster with further nodes on its machine: removes everything of them except their data. */
import { errorMessage } from '../../base/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Instance } from '../instance/instance.ts';
import { NamespaceNode } from './namespace-node.ts';
import { hasDevice, removeNodeNetwork } from './node-network.ts';
import { nodeBridge, readNodesFile } from './nodes-file.ts';

/** Resolves to the problems met. Nothing to do for a cluster that never had further nodes. */
export async function takeDownNodes(platform: Platform, instance: Instance): Promise<readonly string[]> {
  const file = await readNodesFile(platform.files, instance.dataDir);
  if (file === undefined) {
    // An interrupted first start creates the network before it records its choice.
    if (await hasDevice(platform, nodeBridge(instance))) await removeNodeNetwork(platform, instance);
    return [];
  }
  const setting = { instance, network: file.network, hostAddress: '', command: () => [] };
  const entries = [...file.nodes, ...(file.removed ?? [])];
  const ends = await Promise.allSettled(entries.map((entry) => new NamespaceNode(platform, setting, entry).stop()));
  const problems = ends.flatMap((end) => (end.status === 'fulfilled' ? [] : errorMessage(end.reason)));
  if (problems.length === 0) await platform.files.remove(`${instance.runDir}/nodes`);
  await removeNodeNetwork(platform, instance);
  return problems;
}

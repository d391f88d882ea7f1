/** The node's CSINode object. Upstream: nodeinfomanager.InitializeCSINodeWithAnnotation. */
import { createBackoff } from '../../base/backoff.ts';
import type { Kubelet } from '../../kubelet/kubelet-contract.ts';
import { createCsiNodeObject } from '../../kubelet/volumes/csi/csi-node-object.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { NodeParts } from './node-parts.ts';

/**
 * Creates the node's CSINode before any driver registers, as upstream does. A driver that registers earlier creates
 * it too.
 */
export async function initializeCsiNode(
  { platform, client, config }: NodeParts,
  kubelet: Kubelet,
  signal: AbortSignal,
) {
  const backoff = createBackoff({ initialMs: 100, maxMs: 60_000 });
  const csiNode = createCsiNodeObject(client, config.nodeName);
  await kubelet.registered;
  while (!signal.aborted) {
    try {
      return await csiNode.initialize();
    } catch (error) {
      if (signal.aborted) return;
      platform.log.warn('Failed to initialize CSINode, will retry', { node: config.nodeName, err: error });
    }
    await sleepUnlessAborted(platform.clock, backoff.nextMs(), signal);
  }
}

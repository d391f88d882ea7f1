/** What controllers ask a cloud about the machines behind nodes. Upstream: cloud-provider's InstancesV2. */
import type { Node } from '../../api/gen/core-v1.ts';

/** The port. A cluster without a cloud has none. */
export interface CloudNodes {
  /**
   * Whether the node's machine is there, is there but switched off, or is gone for good. Rejects when the cloud does not
   * know: then nothing is done.
   */
  stateOf(node: Node, signal: AbortSignal): Promise<'exists' | 'off' | 'gone'>;
}

/** The port of a cloud, for the machines behind nodes. Upstream: cloud-provider's InstancesV2. */
import type { Node } from '../../api/gen/core-v1.ts';

/** A cluster without a cloud has no such port. */
export interface CloudNodes {
  /**
   * Whether the node's machine exists, exists but is shut down, or is gone for good. Rejects when the cloud cannot
   * say.
   */
  stateOf(node: Node, signal: AbortSignal): Promise<'exists' | 'off' | 'gone'>;
}

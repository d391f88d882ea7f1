/** The status of a further node as users see it. */
import type { NamespaceNode, NodeState } from './namespace-node.ts';

export interface NodeStatus {
  readonly name: string;
  readonly address: string;
  readonly state: NodeState;
  /** Why the node cannot be started; absent where no problem is known. */
  readonly problem?: string | undefined;
  readonly dataDir: string;
  readonly containerdSocket: string;
}

/** `problem` is shown only while the node does not run. */
export async function statusOf(node: NamespaceNode, isStopped: boolean, problem?: string): Promise<NodeStatus> {
  const { name, address, dataDir } = node.place;
  const state = isStopped ? 'stopped' : await node.state();
  const containerdSocket = `unix://${node.instance.containerd.socket}`;
  return { name, address, state, problem: state === 'starting' ? problem : undefined, dataDir, containerdSocket };
}

/** Records events for added and removed nodes. Upstream: controller/nodelifecycle classifyNodes. */
import type { Node } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';

/** Returns a function that is called with all nodes, repeatedly; in the first call all nodes count as new. */
export function createNodeAnnouncer(recorder: EventRecorder): (nodes: readonly Stored<Node>[]) => void {
  const nodesByUid = new Map<string, Node>();
  return (nodes) => {
    const now = new Set(nodes.map((node) => node.metadata.uid));
    for (const [uid, node] of nodesByUid) {
      if (now.has(uid)) continue;
      nodesByUid.delete(uid);
      recorder.event(node, 'Normal', 'RemovingNode', `Removing Node ${node.metadata.name} from Controller`);
    }
    for (const node of nodes) {
      const { uid, name } = node.metadata;
      if (!nodesByUid.has(uid))
        recorder.event(node, 'Normal', 'RegisteredNode', `Registered Node ${name} in Controller`);
      nodesByUid.set(uid, node);
    }
  };
}

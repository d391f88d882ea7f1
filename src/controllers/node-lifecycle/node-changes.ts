/** Nodes that have been added and removed, from events. Upstream: controller/nodelifecycle classifyNodes. */
import type { Node } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';

/** Makes what is handed all nodes there are, again and again; the first time all of them have come. */
export function createNodeAnnouncer(recorder: EventRecorder): (nodes: readonly Stored<Node>[]) => void {
  const known = new Map<string, Node>();
  return (nodes) => {
    const now = new Set(nodes.map((node) => node.metadata.uid));
    for (const [uid, node] of known) {
      if (now.has(uid)) continue;
      known.delete(uid);
      recorder.event(node, 'Normal', 'RemovingNode', `Removing Node ${node.metadata.name} from Controller`);
    }
    for (const node of nodes) {
      const { uid, name } = node.metadata;
      if (!known.has(uid)) recorder.event(node, 'Normal', 'RegisteredNode', `Registered Node ${name} in Controller`);
      known.set(uid, node);
    }
  };
}

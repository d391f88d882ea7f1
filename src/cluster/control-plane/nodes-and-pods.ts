/** Counts nodes, and pods by phase, for `keelson status`, from the API server's caches. */
import { Nodes, Pods } from '../../api/gen/resources.ts';
import { nodeCondition } from '../../component-helpers/nodes.ts';
import type { InstanceStatus } from '../cluster-status.ts';
import type { ControlPlane } from './control-plane.ts';

/** Empty while the API server starts. */
export function nodesAndPods(
  objects: ControlPlane['server']['objects'] | undefined,
): Required<Pick<InstanceStatus, 'nodes' | 'podsByPhase'>> {
  const phases = Map.groupBy(objects?.list(Pods) ?? [], (pod) => pod.status?.phase ?? 'Pending');
  return {
    nodes: (objects?.list(Nodes) ?? []).map((node) => {
      const ready = nodeCondition(node, 'Ready');
      return {
        name: node.metadata.name,
        ready: ready?.status === 'True',
        message: ready?.message ?? '',
        kubeletVersion: node.status?.nodeInfo?.kubeletVersion ?? '',
        runtime: node.status?.nodeInfo?.containerRuntimeVersion ?? '',
      };
    }),
    podsByPhase: Object.fromEntries([...phases].map(([phase, list]) => [phase, list.length])),
  };
}

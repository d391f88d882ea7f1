/** The node's allocatable for admission. Pure. Upstream: sanitizeNodeAllocatable in devicemanager/manager.go. */
import { podContainers } from '../../api/pod-containers.ts';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import { compareQuantities } from '../../api/quantity.ts';

/**
 * The node with at least the allocated amounts of the resources that the pod requests; it may report fewer when
 * plugins are gone.
 */
export function sanitizeNodeAllocatable(
  node: Node | undefined,
  pod: Pod,
  allocated: (resource: string) => number,
): Node | undefined {
  const allocatable = node?.status?.allocatable;
  if (node === undefined || allocatable === undefined) return node;
  const containers = podContainers(pod.spec);
  const names = new Set(containers.flatMap(({ resources }) => Object.keys(resources?.limits ?? {})));
  const raised = [...names].flatMap((name): [string, string][] => {
    const [has, held] = [allocatable[name], name.includes('/') ? allocated(name) : 0];
    return has === undefined || compareQuantities(has, String(held)) >= 0 ? [] : [[name, String(held)]];
  });
  if (raised.length === 0) return node;
  return { ...node, status: { ...node.status, allocatable: { ...allocatable, ...Object.fromEntries(raised) } } };
}

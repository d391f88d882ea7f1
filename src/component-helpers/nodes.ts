/** The state of a node, by its status, labels and taints. Upstream: component-helpers/node, controller/util/node. */
import type { Node, NodeCondition, Taint } from '../api/gen/core-v1.ts';

const REGION = 'topology.kubernetes.io/region';
const ZONE = 'topology.kubernetes.io/zone';
const EXCLUDED = 'node.kubernetes.io/exclude-from-external-load-balancers';

export function nodeCondition(node: Node | undefined, type: string): NodeCondition | undefined {
  return node?.status?.conditions?.find((condition) => condition.type === type);
}

/** Whether the Ready condition is True. */
export function isNodeReady(node: Node | undefined): boolean {
  return nodeCondition(node, 'Ready')?.status === 'True';
}

/** Whether load balancers and routes exclude the node: the label counts with any value. */
export function isExcludedFromLoadBalancers(node: Node | undefined): boolean {
  return node?.metadata.labels?.[EXCLUDED] !== undefined;
}

/** `region:\0:zone` of a node, '' when it names neither. Upstream: GetZoneKey. */
export function zoneKeyOf(node: Node): string {
  const labels = node.metadata.labels ?? {};
  const region = labels[REGION] ?? labels['failure-domain.beta.kubernetes.io/region'] ?? '';
  const zone = labels[ZONE] ?? labels['failure-domain.beta.kubernetes.io/zone'] ?? '';
  return region === '' && zone === '' ? '' : `${region}:\u0000:${zone}`;
}

/** The zone of a node, if it names one. */
export function zoneOf(node: Node): string | undefined {
  return node.metadata.labels?.[ZONE];
}

/** Whether two taints are the same (key and effect). */
export function sameTaint(a: Pick<Taint, 'key' | 'effect'>, b: Pick<Taint, 'key' | 'effect'>): boolean {
  return a.key === b.key && a.effect === b.effect;
}

export function hasTaint(node: Node, taint: Pick<Taint, 'key' | 'effect'>): boolean {
  return (node.spec?.taints ?? []).some((other) => sameTaint(other, taint));
}

/** Nodes and pods for scheduler tests. */
import type { Node, Pod, PodSpec } from '../api/gen/core-v1.ts';

/** A ready node with the given allocatable. */
export function testNode(name: string, options: { cpu?: string; memory?: string; pods?: string; labels?: Record<string, string>; spec?: Node['spec'] } = {}): Node {
  const { cpu = '4', memory = '8Gi', pods = '110', labels = {}, spec } = options;
  return {
    metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
    ...(spec === undefined ? {} : { spec }),
    status: { allocatable: { cpu, memory, pods }, capacity: { cpu, memory, pods }, conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

/** A pod of one container. */
export function testPod(name: string, options: { cpu?: string; memory?: string; spec?: Partial<PodSpec>; priority?: number } = {}): Pod {
  const requests: Record<string, string> = {};
  if (options.cpu !== undefined) requests['cpu'] = options.cpu;
  if (options.memory !== undefined) requests['memory'] = options.memory;
  return {
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    spec: { containers: [{ name: 'c', image: 'i', resources: { requests } }], ...(options.priority === undefined ? {} : { priority: options.priority }), ...options.spec },
  };
}

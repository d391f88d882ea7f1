/** Nodes and pods for scheduler tests. */
import type { Node, Pod, PodSpec } from '../api/gen/core-v1.ts';
import { stored } from '../api/stored-fixture.ts';
import type { Stored } from '../api/object.ts';
import type { Client } from '../client/client.ts';
import { createSeededRandom } from '../platform/sim/random.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { deviceUseOf } from './devices/device-use.ts';
import type { SchedulerPluginDeps } from './framework/plugin-deps.ts';
import { createWaitingPods } from './framework/waiting-pods.ts';

/** A ready node with the given allocatable. */
export function testNode(
  name: string,
  options: { cpu?: string; memory?: string; pods?: string; labels?: Record<string, string>; spec?: Node['spec'] } = {},
): Stored<Node> {
  const { cpu = '4', memory = '8Gi', pods = '110', labels = {}, spec } = options;
  return stored({
    metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
    ...(spec === undefined ? {} : { spec }),
    status: {
      allocatable: { cpu, memory, pods },
      capacity: { cpu, memory, pods },
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  });
}

/** A pod of one container. */
export function testPod(
  name: string,
  options: { cpu?: string; memory?: string; spec?: Partial<PodSpec>; priority?: number } = {},
): Stored<Pod> {
  const requests: Record<string, string> = {};
  if (options.cpu !== undefined) requests['cpu'] = options.cpu;
  if (options.memory !== undefined) requests['memory'] = options.memory;
  return stored({
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    spec: {
      containers: [{ name: 'c', image: 'i', resources: { requests } }],
      ...(options.priority === undefined ? {} : { priority: options.priority }),
      ...options.spec,
    },
  });
}

/** Plugins' surroundings in which there is nothing else; `parts` add to them. */
export function testPluginDeps(parts: Partial<SchedulerPluginDeps> = {}): SchedulerPluginDeps {
  return {
    client: { resource: () => ({}) } as unknown as Client,
    clock: new VirtualClock(),
    random: createSeededRandom(3),
    recorder: { eventf: () => undefined },
    schedulerName: 'default-scheduler',
    deviceMetrics: { claimCreated: () => undefined, waitedFor: () => undefined },
    waitingPods: createWaitingPods(new VirtualClock()),
    pod: () => undefined,
    claim: () => undefined,
    volume: () => undefined,
    node: () => undefined,
    volumesOfClass: () => [],
    csiNode: () => undefined,
    csiDriver: () => undefined,
    attachmentsTo: () => [],
    storageCapacities: () => [],
    resourceClaim: () => undefined,
    extendedClaimOf: () => undefined,
    deviceUse: () => deviceUseOf([]),
    resourceSlices: () => [],
    deviceClass: () => undefined,
    extendedResourceClass: () => undefined,
    storageClass: () => undefined,
    namespaceLabels: () => undefined,
    budgets: () => [],
    siblings: () => undefined,
    serviceSiblings: () => undefined,
    servicesOf: () => [],
    ...parts,
  };
}

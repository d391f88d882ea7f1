/** The devices in the ResourceSlices of drivers, and which of them a node can reach. Pure. Upstream: structured/internal pools. */
import type { Node, NodeSelector } from '../../api/gen/core-v1.ts';
import type { AllocationResult, Device, ResourceSlice } from '../../api/gen/resource-v1.ts';
import { quantityValue } from '../../api/quantity.ts';
import { getOrMake } from '../../base/get-or-make.ts';
import { appendAll } from '../../base/lists.ts';
import type { Stored } from '../../api/object.ts';
import { someTermMatches } from '../../component-helpers/node-affinity.ts';

/** A device and where it can be used. */
export interface PoolDevice {
  readonly driver: string;
  readonly pool: string;
  readonly device: Device;
  /** `driver/pool/name`. */
  readonly key: string;
  readonly nodeName?: string | undefined;
  readonly nodeSelector?: NodeSelector | undefined;
}

/** Devices of a node, and what devices of one pool share. */
export interface NodeDevices {
  readonly devices: readonly PoolDevice[];
  /** The amount of a shared counter by `driver/pool/set/counter`. */
  readonly counters: ReadonlyMap<string, number>;
}

/** `driver/pool/name` of a device. */
export function deviceKey(device: { readonly driver: string; readonly pool: string; readonly device: string }): string {
  return `${device.driver}/${device.pool}/${device.device}`;
}

const counterUses = new WeakMap<PoolDevice, readonly (readonly [key: string, amount: number])[]>();

/** The device's use of its pool's shared counters, by key. */
export function counterUse(poolDevice: PoolDevice): readonly (readonly [key: string, amount: number])[] {
  const { driver, pool, device } = poolDevice;
  return getOrMake(counterUses, poolDevice, () =>
    (device.consumesCounters ?? []).flatMap(({ counterSet, counters }) =>
      Object.entries(counters).map(([name, { value }]): [string, number] => [
        `${driver}/${pool}/${counterSet}/${name}`,
        quantityValue(value),
      ]),
    ),
  );
}

/** The slices of each pool's newest generation; pools with missing slices are left out. */
function wholePools(slices: readonly ResourceSlice[]): ResourceSlice[][] {
  const pools = new Map<string, ResourceSlice[]>();
  for (const slice of slices) {
    const key = `${slice.spec.driver}/${slice.spec.pool.name}`;
    const resourceSlices = pools.get(key) ?? [];
    const newest = resourceSlices[0]?.spec.pool.generation ?? Number.NEGATIVE_INFINITY;
    if (slice.spec.pool.generation > newest) pools.set(key, [slice]);
    else if (slice.spec.pool.generation === newest) resourceSlices.push(slice);
  }
  return [...pools.values()].filter((pool) => pool.length >= pool[0]!.spec.pool.resourceSliceCount);
}

const poolsOf = new WeakMap<readonly ResourceSlice[], NodeDevices>();

/** Every device of every complete pool; remembered for the list. */
export function allDevices(slices: readonly ResourceSlice[]): NodeDevices {
  return getOrMake(poolsOf, slices, () => {
    const counters = new Map<string, number>();
    const devices: PoolDevice[] = [];
    for (const slice of wholePools(slices).flat()) {
      const { spec } = slice;
      for (const set of spec.sharedCounters ?? [])
        for (const [name, { value }] of Object.entries(set.counters))
          counters.set(`${spec.driver}/${spec.pool.name}/${set.name}/${name}`, quantityValue(value));
      appendAll(devices, devicesOf(slice));
    }
    return { devices, counters };
  });
}

const sliceDevices = new WeakMap<ResourceSlice, readonly PoolDevice[]>();

function devicesOf(slice: ResourceSlice): readonly PoolDevice[] {
  return getOrMake(sliceDevices, slice, () => {
    const { driver, pool, devices = [], perDeviceNodeSelection } = slice.spec;
    return devices.map((device) => {
      const { nodeName, nodeSelector } = perDeviceNodeSelection === true ? device : slice.spec;
      const key = deviceKey({ driver, pool: pool.name, device: device.name });
      return { driver, pool: pool.name, device, key, nodeName, nodeSelector };
    });
  });
}

interface ByNode {
  /** Indexes into the list of devices, by the node that they are local to. */
  readonly local: Map<string, number[]>;
  readonly others: number[];
  /** Devices that use shared counters, by `driver/pool`. */
  readonly counting: Map<string, PoolDevice[]>;
}

const byNode = new WeakMap<NodeDevices, ByNode>();

/** Devices that the node can reach, in pool order. Devices local to other nodes are not examined. */
export function reachableDevices(node: Stored<Node>, pools: NodeDevices): PoolDevice[] {
  const { local, others } = getOrMake(byNode, pools, () => indexByNode(pools.devices));
  const own = local.get(node.metadata.name) ?? [];
  // The devices of a slice share its selector.
  const verdicts = new Map<NodeSelector | undefined, boolean>();
  const shared = others.filter((at) => {
    const device = pools.devices[at]!;
    return getOrMake(verdicts, device.nodeSelector, () => isReachable(node, device));
  });
  const places = shared.length === 0 ? own : [...own, ...shared].sort((a, b) => a - b);
  return places.map((at) => pools.devices[at]!);
}

/** The amounts of shared counters that are used in the pools of these devices. */
export function usedCounters(
  devices: readonly PoolDevice[],
  pools: NodeDevices,
  isUsed: (key: string) => boolean,
): Map<string, number> {
  const used = new Map<string, number>();
  const { counting } = getOrMake(byNode, pools, () => indexByNode(pools.devices));
  if (counting.size === 0) return used;
  for (const pool of new Set(devices.map(poolKey)))
    for (const device of counting.get(pool) ?? [])
      if (isUsed(device.key))
        for (const [key, amount] of counterUse(device)) used.set(key, (used.get(key) ?? 0) + amount);
  return used;
}

const poolKey = ({ driver, pool }: PoolDevice): string => `${driver}/${pool}`;

function indexByNode(devices: readonly PoolDevice[]): ByNode {
  const local = new Map<string, number[]>();
  const counting = new Map<string, PoolDevice[]>();
  const others: number[] = [];
  for (const [at, poolDevice] of devices.entries()) {
    const { nodeName, device } = poolDevice;
    if (nodeName === undefined || nodeName === '') others.push(at);
    else getOrMake(local, nodeName, (): number[] => []).push(at);
    if ((device.consumesCounters ?? []).length > 0)
      getOrMake(counting, poolKey(poolDevice), (): PoolDevice[] => []).push(poolDevice);
  }
  return { local, others, counting };
}

/** Whether the node can reach the device. */
export function isReachable(node: Stored<Node>, { nodeName, nodeSelector }: PoolDevice): boolean {
  if (nodeName !== undefined && nodeName !== '') return nodeName === node.metadata.name;
  if (nodeSelector === undefined) return true;
  return someTermMatches(nodeSelector.nodeSelectorTerms, node);
}

/** The nodes that can reach all of the devices; undefined: all nodes. */
export function selectorOf(
  devices: readonly Pick<PoolDevice, 'nodeName' | 'nodeSelector'>[],
): AllocationResult['nodeSelector'] {
  const name = devices.find(({ nodeName }) => nodeName !== undefined && nodeName !== '')?.nodeName;
  if (name !== undefined)
    return { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }] }] };
  const terms = devices.flatMap(({ nodeSelector }) => nodeSelector?.nodeSelectorTerms.slice(0, 1) ?? []);
  if (terms.length === 0) return undefined;
  const matchExpressions = terms.flatMap((term) => term.matchExpressions ?? []);
  const matchFields = terms.flatMap((term) => term.matchFields ?? []);
  return {
    nodeSelectorTerms: [
      {
        ...(matchExpressions.length === 0 ? {} : { matchExpressions }),
        ...(matchFields.length === 0 ? {} : { matchFields }),
      },
    ],
  };
}

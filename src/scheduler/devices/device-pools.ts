/** The devices in the ResourceSlices of drivers, and which of them a node can reach. Pure. Upstream: structured/internal pools. */
import type { Node, NodeSelector } from '../../api/gen/core-v1.ts';
import type { AllocationResult, Device, ResourceSlice } from '../../api/gen/resource-v1.ts';
import { quantityValue } from '../../api/quantity.ts';
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

/** The device's use of its pool's shared counters, by key. */
export function counterUse({ driver, pool, device }: PoolDevice): [string, number][] {
  return (device.consumesCounters ?? []).flatMap(({ counterSet, counters }) =>
    Object.entries(counters).map(([name, { value }]): [string, number] => [
      `${driver}/${pool}/${counterSet}/${name}`,
      quantityValue(value),
    ]),
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

/** Every device of every complete pool. */
export function allDevices(slices: readonly ResourceSlice[]): NodeDevices {
  const counters = new Map<string, number>();
  const devices: PoolDevice[] = [];
  for (const { spec } of wholePools(slices).flat()) {
    const pool = spec.pool.name;
    for (const set of spec.sharedCounters ?? [])
      for (const [name, { value }] of Object.entries(set.counters))
        counters.set(`${spec.driver}/${pool}/${set.name}/${name}`, quantityValue(value));
    for (const device of spec.devices ?? []) {
      const place = spec.perDeviceNodeSelection === true ? device : spec;
      devices.push({
        driver: spec.driver,
        pool,
        device,
        key: deviceKey({ driver: spec.driver, pool, device: device.name }),
        nodeName: place.nodeName,
        nodeSelector: place.nodeSelector,
      });
    }
  }
  return { devices, counters };
}

interface ByNode {
  /** Indexes into the list of devices, by the node that they are local to. */
  readonly local: Map<string, number[]>;
  readonly others: number[];
}

const byNode = new WeakMap<NodeDevices, ByNode>();

/** Devices that the node can reach, in pool order. Devices local to other nodes are not examined. */
export function reachableDevices(node: Stored<Node>, pools: NodeDevices): PoolDevice[] {
  let known = byNode.get(pools);
  if (known === undefined) byNode.set(pools, (known = indexByNode(pools.devices)));
  const { local, others } = known;
  const own = local.get(node.metadata.name) ?? [];
  const shared = others.filter((at) => isReachable(node, pools.devices[at]!));
  const places = shared.length === 0 ? own : [...own, ...shared].sort((a, b) => a - b);
  return places.map((at) => pools.devices[at]!);
}

function indexByNode(devices: readonly PoolDevice[]): ByNode {
  const local = new Map<string, number[]>();
  const others: number[] = [];
  for (const [at, { nodeName }] of devices.entries()) {
    if (nodeName === undefined || nodeName === '') others.push(at);
    else if (local.has(nodeName)) local.get(nodeName)!.push(at);
    else local.set(nodeName, [at]);
  }
  return { local, others };
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

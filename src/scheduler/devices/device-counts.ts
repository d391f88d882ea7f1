/**
 * Counts the devices that a node can use for an extended resource by its device class, and those of them that are
 * allocated. Scores of resources use it. Upstream: noderesources/resource_allocation.go (gate DRAExtendedResource).
 * Differs: incomplete pools are not counted, as in allocation; allocations that are not written yet are not seen.
 */
import type { Node } from '../../api/gen/core-v1.ts';
import type { Device, DeviceClass } from '../../api/gen/resource-v1.ts';
import type { Stored } from '../../api/object.ts';
import { getOrMake } from '../../base/get-or-make.ts';
import type { ClusterObjects } from '../framework/plugin-deps.ts';
import { allDevices, isReachable } from './device-pools.ts';
import { deviceTest, type DeviceTest } from './device-selectors.ts';

/** Where devices are looked up. */
export type DeviceLookups = Pick<ClusterObjects, 'extendedResourceClass' | 'deviceUse' | 'resourceSlices'>;

/** Counts devices of a node by resource name; undefined: the resource has no device class, or its selectors fail. */
export type DeviceCounts = (
  node: Stored<Node>,
  resource: string,
) => { readonly capacity: number; readonly used: number } | undefined;

/** Whether a device class may stand for the resource. */
export function mayBeDevices(resource: string): boolean {
  return resource.includes('/');
}

/** Counts for these resources; undefined where none of them has a device class. */
export function countDevices(lookups: DeviceLookups, resources: readonly string[]): DeviceCounts | undefined {
  const tests = new Map(
    resources.flatMap((name): [string, DeviceTest][] => {
      const deviceClass = mayBeDevices(name) ? lookups.extendedResourceClass(name) : undefined;
      return deviceClass === undefined ? [] : [[name, testOf(deviceClass)]];
    }),
  );
  if (tests.size === 0) return undefined;
  const byNode = Map.groupBy(allDevices(lookups.resourceSlices()).devices, ({ nodeName }) => nodeName ?? '');
  const { inUse, shares } = lookups.deviceUse();
  return (node, resource) => {
    const matches = tests.get(resource);
    if (matches === undefined) return undefined;
    const near = [...(byNode.get(node.metadata.name) ?? []), ...(byNode.get('') ?? [])];
    try {
      const mine = near.filter((one) => isReachable(node, one) && matches(one.driver, one.device));
      return { capacity: mine.length, used: mine.filter(({ key }) => inUse.has(key) || shares.has(key)).length };
    } catch {
      return undefined;
    }
  };
}

/** Verdicts about devices, by class. */
const verdicts = new WeakMap<DeviceClass, WeakMap<Device, boolean>>();

function testOf(deviceClass: DeviceClass): DeviceTest {
  const test = deviceTest(deviceClass.spec.selectors ?? []);
  const ofClass = getOrMake(verdicts, deviceClass, () => new WeakMap<Device, boolean>());
  return (driver, device) => getOrMake(ofClass, device, () => test(driver, device));
}

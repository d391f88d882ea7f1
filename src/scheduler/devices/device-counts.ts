/**
 * How many devices a node reaches of those that stand for an extended resource, and how many of them are taken: for scores by
 * resources that device plugins do not count. Upstream: noderesources/resource_allocation.go (gate DRAExtendedResource).
 * Differs: pools that are not whole count for nothing, as in allocation; what is decided and not yet written is not seen.
 */
import type { Node } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { ClusterObjects } from '../framework/plugin-deps.ts';
import { usedDevices } from './consumed-capacity.ts';
import { allDevices, reaches } from './device-pools.ts';
import { deviceTest, type DeviceTest } from './device-selectors.ts';

/** Where devices are looked up. */
export type DeviceLookups = Pick<ClusterObjects, 'extendedResourceClass' | 'resourceClaims' | 'resourceSlices'>;

/** Devices of a node by the name of the resource; undefined: no class stands for it, or its selectors fail. */
export type DeviceCounts = (
  node: Stored<Node>,
  resource: string,
) => { readonly capacity: number; readonly used: number } | undefined;

/** Whether a device class may stand for the resource. */
export function mayBeDevices(resource: string): boolean {
  return resource.includes('/');
}

/** Counts for these resources; undefined where no device class stands for any of them. */
export function countDevices(lookups: DeviceLookups, resources: readonly string[]): DeviceCounts | undefined {
  const tests = new Map(
    resources.flatMap((name): [string, DeviceTest][] => {
      const found = mayBeDevices(name) ? lookups.extendedResourceClass(name) : undefined;
      return found === undefined ? [] : [[name, lazyTest(found.spec.selectors ?? [])]];
    }),
  );
  if (tests.size === 0) return undefined;
  const byNode = Map.groupBy(allDevices(lookups.resourceSlices()).devices, ({ nodeName }) => nodeName ?? '');
  const { inUse, shares } = usedDevices(
    lookups.resourceClaims().flatMap(({ status }) => (status?.allocation === undefined ? [] : status.allocation)),
  );
  return (node, resource) => {
    const matches = tests.get(resource);
    if (matches === undefined) return undefined;
    const near = [...(byNode.get(node.metadata.name) ?? []), ...(byNode.get('') ?? [])];
    try {
      const mine = near.filter((one) => reaches(node, one) && matches(one.driver, one.device));
      return { capacity: mine.length, used: mine.filter(({ key }) => inUse.has(key) || shares.has(key)).length };
    } catch {
      return undefined;
    }
  };
}

/** Selectors that do not compile fail when they are asked, as those that cannot be worked out. */
function lazyTest(selectors: Parameters<typeof deviceTest>[0]): DeviceTest {
  let test: DeviceTest | undefined;
  return (driver, device) => (test ??= deviceTest(selectors))(driver, device);
}

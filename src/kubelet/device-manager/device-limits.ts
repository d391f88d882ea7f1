/**
 * Bounds of what device plugins of one node list. Upstream has one of 4 MiB a list, which may be 400,000 devices.
 *
 * Differs: a longer list is refused; the devices of the resource count as unhealthy until its plugin sends a shorter one.
 */
import type { PluginDevice } from './device-plugin-api.ts';

/** Devices of one resource, and of all. */
export const MAX_DEVICES = 20_000;
export const MAX_DEVICES_OF_NODE = 100_000;
/** Resources of plugins; each is a line of the node's status. */
export const MAX_RESOURCES = 1_000;
/** Settings that a plugin adds to one container, as JSON. They are kept, and written with every allocation. */
export const MAX_RESPONSE_CHARACTERS = 512 * 1024;
/** Devices of a container that its status names. */
export const MAX_REPORTED_DEVICES = 1_000;

/** Longer texts, and lists of NUMA nodes, count as several devices. */
const CHARACTERS_PER_DEVICE = 256;
const NODES_PER_DEVICE = 64;

/** The number of devices as the limits count them. */
export function countDevices(devices: readonly PluginDevice[]): number {
  let count = 0;
  for (const { ID, health, topology } of devices) {
    count += 1 + Math.floor((ID.length + health.length) / CHARACTERS_PER_DEVICE);
    count += Math.floor((topology?.nodes.length ?? 0) / NODES_PER_DEVICE);
  }
  return count;
}

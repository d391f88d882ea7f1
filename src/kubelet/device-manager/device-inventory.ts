/** The devices of the node, their health, and the plugins they come from. Upstream: the maps of devicemanager's ManagerImpl. */
import { deepEqual } from '../../base/equal.ts';
import type { Clock } from '../../platform/clock.ts';
import { countDevices, MAX_DEVICES, MAX_DEVICES_OF_NODE } from './device-limits.ts';
import type { PluginDevice } from './device-plugin-api.ts';
import type { Devices } from './device-hints.ts';
import type { Endpoint } from './endpoint.ts';

/** Removed resources that are still reported as 0. */
const MAX_GONE = 100;
/** A plugin's absence after which its resource is removed. */
const ENDPOINT_STOP_GRACE_PERIOD_MS = 5 * 60_000;

/** Extended resources in the node's status. */
export interface DeviceCapacity {
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
}

export interface DeviceInventory {
  /** A plugin serves the resource from now on; returns the one it replaces. */
  connected(resource: string, endpoint: Endpoint): Endpoint | undefined;
  /** The plugin disconnected. Returns false when another plugin already serves the resource. */
  disconnected(resource: string, endpoint: Endpoint): boolean;
  /** A resource from the checkpoint: it has no devices until its plugin registers. */
  restored(resource: string): void;
  /** Returns whether devices, their health or their topology changed. */
  update(resource: string, devices: readonly PluginDevice[]): boolean;
  /** The plugin's list is not taken: its devices are unhealthy. Returns whether one was healthy. */
  refused(resource: string): boolean;
  /** Number of devices that the resource may have beside those of all others. */
  room(resource: string): number;
  isKnown(resource: string): boolean;
  resources(): readonly string[];
  endpoint(resource: string): Endpoint | undefined;
  devices(resource: string): Devices;
  healthy(resource: string): ReadonlySet<string>;
  /** The node's devices. Resources whose plugin did not return are reported as 0. */
  capacity(): DeviceCapacity;
}

interface Stock {
  /** As the limits count them. */
  count: number;
  devices: ReadonlyMap<string, PluginDevice>;
  healthy: ReadonlySet<string>;
  endpoint: Endpoint | undefined;
  stoppedAtMs: number | undefined;
}

/** Shared by all nodes without device plugins. */
const NO_DEVICES: DeviceCapacity = { capacity: {}, allocatable: {} };

export function createDeviceInventory(clock: Clock): DeviceInventory {
  const stocks = new Map<string, Stock>();
  const gone = new Set<string>();

  function stockOf(resource: string): Stock {
    const stock = stocks.get(resource) ?? {
      count: 0,
      devices: new Map(),
      healthy: new Set(),
      endpoint: undefined,
      stoppedAtMs: clock.monotonicMs(),
    };
    stocks.set(resource, stock);
    gone.delete(resource);
    return stock;
  }

  return {
    connected(resource, endpoint) {
      const stock = stockOf(resource);
      const before = stock.endpoint;
      Object.assign(stock, { endpoint, stoppedAtMs: undefined });
      return before;
    },
    disconnected(resource, endpoint) {
      const stock = stocks.get(resource);
      if (stock?.endpoint !== endpoint) return false;
      Object.assign(stock, { endpoint: undefined, stoppedAtMs: clock.monotonicMs(), healthy: new Set() });
      return true;
    },
    restored: (resource) => stockOf(resource),
    update(resource, devices) {
      const stock = stockOf(resource);
      const known = new Map(devices.map((device) => [device.ID, device]));
      const healthy = new Set(devices.filter(({ health }) => health === 'Healthy').map(({ ID }) => ID));
      if (isSameStock(stock, known, healthy)) return false;
      Object.assign(stock, { count: countDevices(devices), devices: known, healthy });
      return true;
    },
    refused(resource) {
      const stock = stockOf(resource);
      const hadHealthy = stock.healthy.size > 0;
      stock.healthy = new Set();
      return hadHealthy;
    },
    room(resource) {
      let others = 0;
      for (const [name, { count }] of stocks) if (name !== resource) others += count;
      return Math.min(MAX_DEVICES, Math.max(0, MAX_DEVICES_OF_NODE - others));
    },
    isKnown: (resource) => stocks.has(resource),
    resources: () => [...stocks.keys()],
    endpoint: (resource) => stocks.get(resource)?.endpoint,
    devices: (resource) => stocks.get(resource)?.devices ?? new Map(),
    healthy: (resource) => stocks.get(resource)?.healthy ?? new Set(),
    capacity() {
      if (stocks.size === 0 && gone.size === 0) return NO_DEVICES;
      const expired = clock.monotonicMs() - ENDPOINT_STOP_GRACE_PERIOD_MS;
      for (const [resource, { stoppedAtMs }] of stocks) {
        if (stoppedAtMs === undefined || stoppedAtMs > expired) continue;
        stocks.delete(resource);
        gone.add(resource);
      }
      for (const oldest of gone) {
        if (gone.size <= MAX_GONE) break;
        gone.delete(oldest);
      }
      const zero = [...gone].map((resource) => [resource, '0'] as const);
      const count = (countOf: (stock: Stock) => number) =>
        Object.fromEntries([...zero, ...[...stocks].map(([name, stock]) => [name, String(countOf(stock))] as const)]);
      return {
        capacity: count(({ devices }) => devices.size),
        allocatable: count(({ healthy }) => healthy.size),
      };
    },
  };
}

function isSameStock(stock: Stock, devices: ReadonlyMap<string, PluginDevice>, healthy: ReadonlySet<string>): boolean {
  if (stock.devices.size !== devices.size || stock.healthy.size !== healthy.size) return false;
  for (const [id, device] of devices) {
    const before = stock.devices.get(id);
    if (before === undefined || stock.healthy.has(id) !== healthy.has(id) || before.health !== device.health)
      return false;
    if (!deepEqual(before.topology, device.topology)) return false;
  }
  return true;
}

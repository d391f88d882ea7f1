/** The devices of the node, their health, and the plugins they come from. Upstream: the maps of devicemanager's ManagerImpl. */
import type { Clock } from '../../platform/clock.ts';
import type { PluginDevice } from './device-plugin-api.ts';
import type { Devices } from './device-hints.ts';
import type { Endpoint } from './endpoint.ts';

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
  update(resource: string, devices: readonly PluginDevice[]): void;
  isKnown(resource: string): boolean;
  resources(): readonly string[];
  endpoint(resource: string): Endpoint | undefined;
  devices(resource: string): Devices;
  healthy(resource: string): ReadonlySet<string>;
  /** The node's devices. Resources whose plugin did not return are reported as 0. */
  capacity(): DeviceCapacity;
}

interface Stock {
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
      stock.devices = new Map(devices.map((device) => [device.ID, device]));
      stock.healthy = new Set(devices.filter(({ health }) => health === 'Healthy').map(({ ID }) => ID));
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

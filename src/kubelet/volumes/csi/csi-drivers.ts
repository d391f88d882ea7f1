/**
 * The CSI drivers of this node: they register through the plugin manager, and are listed in the CSINode object.
 * Upstream: pkg/volume/csi/csi_plugin.go (RegistrationHandler) and csi_drivers_store.go.
 */
import { onAbort } from '../../../base/abort.ts';
import type { GrpcConnector } from '../../../grpc/grpc-connector.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Log } from '../../../platform/log.ts';
import type { Plugin, PluginHandler } from '../../plugin-manager/plugin-manager.ts';
import type { AllocatableRefresh } from './csi-allocatable.ts';
import { createCsiNodeClient, type CsiNodeClient, type NodeInfo, type ObserveCall } from './csi-client.ts';

export interface CsiDriversDeps {
  readonly connect: GrpcConnector;
  readonly clock: Clock;
  /** Called after every call to a driver. */
  readonly observe: (driver: string) => ObserveCall;
  readonly log: Log;
  /** Adds a driver to the node's objects. */
  readonly installDriver: (driver: string, info: NodeInfo) => Promise<void>;
  readonly uninstallDriver: (driver: string) => Promise<void>;
  /** Called when a driver registers or leaves. */
  readonly allocatable: AllocatableRefresh;
}

export interface CsiDrivers {
  /** For the plugin manager. */
  readonly handler: PluginHandler;
  /** The driver's node service. @throws Error while it is not registered */
  client(driver: string): CsiNodeClient;
  isRegistered(driver: string): boolean;
}

interface Registered {
  readonly endpoint: string;
  readonly client: CsiNodeClient;
}

export function createCsiDrivers(deps: CsiDriversDeps): CsiDrivers {
  const drivers = new Map<string, Registered>();
  return {
    isRegistered: (driver) => drivers.has(driver),
    client(driver) {
      const registration = drivers.get(driver);
      if (registration === undefined)
        throw new Error(`driver name ${driver} not found in the list of registered CSI drivers`);
      return registration.client;
    },
    handler: {
      async validatePlugin({ name, endpoint, supportedVersions }) {
        if (!supportedVersions.some(isSupported))
          throw new Error(
            `CSI driver validation failed for driver ${name} at endpoint ${endpoint}: none of the CSI versions reported by this driver are supported`,
          );
      },
      async registerPlugin({ name, endpoint }, signal) {
        const client = createCsiNodeClient({ ...deps, observe: deps.observe(name) }, endpoint);
        try {
          const info = await client.nodeGetInfo();
          if (info.nodeId === '') throw new Error(`error getting CSI node info: ${name} gave no node id`);
          await deps.installDriver(name, info);
        } catch (error) {
          client.close();
          throw error;
        }
        drivers.get(name)?.client.close();
        drivers.set(name, { endpoint, client });
        deps.allocatable.follow(name);
        const end = (): void => {
          if (drivers.get(name)?.client === client) deps.allocatable.unfollow(name);
          client.close();
        };
        onAbort(signal, end);
      },
      async deregisterPlugin({ name, endpoint }: Plugin) {
        const registration = drivers.get(name);
        // A newer instance of the driver, at another socket, serves it already.
        if (registration !== undefined && registration.endpoint !== endpoint) return;
        drivers.delete(name);
        deps.allocatable.unfollow(name);
        registration?.client.close();
        await deps
          .uninstallDriver(name)
          .catch((error: unknown) =>
            deps.log.error('Failed to unregister the CSI driver', { driver: name, err: error }),
          );
      },
    },
  };
}

/** CSI 1.x; drivers write `1.0.0`, `v1.0` or `1`. */
function isSupported(version: string): boolean {
  return /^v?1(\.\d+){0,2}$/.test(version);
}

/** The dependencies of a server's routes. */
import type { Principal } from '../../api/transport.ts';
import type { GatewayPorts } from '../../gateway/snapshot/build-snapshot.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { Instance } from '../instance/instance.ts';
import type { MachinePorts } from './machine-ports.ts';
import type { RouteFeed } from './nodes/route-feed.ts';

/** The user that writes the status of routes. */
export const GATEWAY_PRINCIPAL: Principal = { name: 'keelson:gateway', groups: ['system:authenticated'] };

export interface GatewayDeps {
  readonly platform: Platform;
  readonly controlPlane: Pick<ControlPlane, 'clientFor' | 'server'>;
}

export interface GatewayConfig {
  readonly instance: Instance;
  readonly ports: GatewayPorts;
  readonly machinePorts: MachinePorts;
  /** Sends routes to the nodes of other machines. */
  readonly feed: RouteFeed;
  /** Whether this machine is a node, which also serves routes. */
  readonly hasNode: boolean;
}

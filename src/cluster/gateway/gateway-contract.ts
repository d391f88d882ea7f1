/** What the routes of a node are made from. */
import type { GatewayPorts } from '../../gateway/snapshot/build-snapshot.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { Instance } from '../instance/instance.ts';
import type { MachinePorts } from './machine-ports.ts';

export interface GatewayDeps {
  readonly platform: Platform;
  readonly controlPlane: Pick<ControlPlane, 'clientFor' | 'server'>;
}

export interface GatewayConfig {
  readonly instance: Instance;
  readonly ports: GatewayPorts;
  readonly machinePorts: MachinePorts;
}

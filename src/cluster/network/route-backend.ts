/** What carries packets between nodes: links and VXLAN, or WireGuard. Upstream: flannel's backends. */
import type { Node } from '../../api/gen/core-v1.ts';
import type { Client } from '../../client/client.ts';
import type { Stored } from '../../api/object.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Instance } from '../instance/instance.ts';

export interface RouteBackend {
  /**
   * Makes the machine reach the pods of these nodes. Without `checking`, programs are started only if something has
   * changed since the last success.
   */
  follow(nodes: readonly Stored<Node>[], checking: boolean): Promise<void>;
  /** Whether the program behind the device runs; absent where there is none. Called each second. */
  readonly isAlive?: () => boolean;
}

export interface RouteBackendDeps {
  readonly platform: Platform;
  /** Called whenever the MTU between nodes changes. */
  readonly setMtu: (mtu: number) => Promise<void>;
  /** Acts as the node's user. */
  readonly client: Client;
  /** Called with the state of the encrypted tunnels; '' where there is nothing wrong. */
  readonly report: (problem: string) => void;
}

/** The node, and the identifiers that mark its cluster's packets. */
export interface NodeRoutesConfig {
  readonly instance: Instance;
  readonly nodeIp: string;
  /** The VXLAN network identifier (24 bits): equal on all nodes of a cluster, different between clusters. */
  readonly vni: number;
}

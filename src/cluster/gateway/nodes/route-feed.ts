/**
 * Sends snapshots of routes to joined nodes, over a connection that each node opens with its own certificate, and receives the
 * reports of their data planes. So a node receives the certificates that it serves and needs no right to read Secrets. All nodes
 * receive the same snapshots; a node's identity only decides which node its reports are about.
 */
import { badRequest, forbidden } from '../../../api/status-error.ts';
import type { ApiResponse } from '../../../api/transport.ts';
import type { NonResourceRoute } from '../../../apiserver/non-resource-routes.ts';
import type { RequestScope } from '../../../apiserver/request-scope.ts';
import { NODE_ROUTES_PATH } from '../../../component-helpers/gateway-class.ts';
import { switchedHead } from '../../../component-helpers/streaming/switched-head.ts';
import { nodeIdentity } from '../../../component-helpers/user-names.ts';
import type { PublishedSnapshot } from '../../../gateway/gateway-controller.ts';
import type { DataPlaneReport } from '../../../gateway/snapshot/snapshot.ts';
import type { BasePlatform } from '../../../platform/platform.ts';
import type { Duplex } from '../../../platform/streams.ts';
import { FedNode } from './fed-node.ts';
import { NO_ROUTES, NODE_ROUTES_PROTOCOL } from './protocol.ts';

/** The receiver of reports. */
export interface NodeReports {
  /** Whether the node exists and should serve routes. */
  serves(nodeName: string): 'yes' | 'no' | 'unknown node';
  /** `report` is undefined when no data plane runs. */
  take(nodeName: string, report: DataPlaneReport | undefined): void;
  /** The node is disconnected. Its last report may still be true. */
  leave(nodeName: string): void;
}

export class RouteFeed {
  readonly #platform: Pick<BasePlatform, 'clock' | 'log'>;
  readonly #nodes = new Map<string, FedNode>();
  #snapshot: PublishedSnapshot | undefined;
  #reports: NodeReports | undefined;

  constructor(platform: Pick<BasePlatform, 'clock' | 'log'>) {
    this.#platform = platform;
  }

  route(): NonResourceRoute {
    return { path: NODE_ROUTES_PATH, methods: ['GET'], serve: (scope) => this.#serve(scope) };
  }

  /** Sends the snapshot to all connected nodes. Before the first call, nodes keep what they serve. */
  publish(snapshot: PublishedSnapshot): void {
    this.#snapshot = snapshot;
    for (const name of this.#nodes.keys()) this.refresh(name);
  }

  useReports(reports: NodeReports): void {
    this.#reports = reports;
  }

  /** Called when the node's existence, or whether it serves, may have changed. */
  refresh(nodeName: string): void {
    const node = this.#nodes.get(nodeName);
    if (node === undefined || this.#snapshot === undefined) return;
    const serves = this.#reports?.serves(nodeName) ?? 'yes';
    if (serves === 'unknown node') node.end();
    else node.offer(serves === 'yes' ? this.#snapshot : NO_ROUTES);
  }

  /** Ends all connections. */
  close(): void {
    for (const node of this.#nodes.values()) node.end();
  }

  #serve({ user, request }: RequestScope): ApiResponse {
    const nodeName = nodeIdentity(user);
    if (nodeName === undefined || this.#reports?.serves(nodeName) === 'unknown node')
      throw forbidden({ group: '', resource: '' }, '', 'only nodes of the cluster get routes to serve');
    if (!request.wantsUpgrade || request.headers['upgrade'] !== NODE_ROUTES_PROTOCOL)
      throw badRequest(`routes are given to nodes that ask for ${NODE_ROUTES_PROTOCOL}`);
    return { kind: 'upgrade', accept: (socket) => this.#feed(nodeName, socket) };
  }

  async #feed(nodeName: string, socket: Duplex): Promise<void> {
    await socket.write(switchedHead(NODE_ROUTES_PROTOCOL));
    const node = new FedNode(this.#platform, nodeName, socket);
    this.#nodes.get(nodeName)?.end();
    this.#nodes.set(nodeName, node);
    this.refresh(nodeName);
    await node.read((report) => {
      if (this.#nodes.get(nodeName) === node) this.#reports?.take(nodeName, report);
    });
    if (this.#nodes.get(nodeName) !== node) return;
    this.#nodes.delete(nodeName);
    this.#reports?.leave(nodeName);
  }
}

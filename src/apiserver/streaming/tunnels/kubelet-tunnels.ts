/** The tunnels that agents have opened to this server, by node, and the path for opening them. */
import { badRequest, forbidden, noSuchPath, type StatusError } from '../../../api/status-error.ts';
import type { ApiResponse } from '../../../api/transport.ts';
import { parseIp } from '../../../base/cidr.ts';
import { joinStreams } from '../../../component-helpers/streaming/join-streams.ts';
import { switchedHead } from '../../../component-helpers/streaming/switched-head.ts';
import { nodeIdentity } from '../../../component-helpers/user-names.ts';
import type { Duplex } from '../../../platform/streams.ts';
import type { NonResourceRoute } from '../../non-resource-routes.ts';
import type { RequestScope } from '../../request-scope.ts';
import { NodeTunnel, type NodeTunnelDeps } from './node-tunnel.ts';
import { CONNECTION, TUNNEL_PATH, TUNNEL_PROTOCOL } from './tunnel-protocol.ts';

export interface KubeletTunnelsDeps extends NodeTunnelDeps {
  /**
   * Whether the API server's certificate has this name. A node with that name could redirect requests for its kubelet
   * to the API server, with the server's identity.
   */
  readonly isServerName: (name: string) => boolean;
}

export class KubeletTunnels {
  readonly #deps: KubeletTunnelsDeps;
  readonly #tunnels = new Map<string, NodeTunnel>();

  constructor(deps: KubeletTunnelsDeps) {
    this.#deps = deps;
  }

  /** The loopback port that leads to the node's kubelet; undefined without a tunnel. */
  portOf(nodeName: string): number | undefined {
    return this.#tunnels.get(nodeName)?.port;
  }

  get route(): NonResourceRoute {
    return { path: TUNNEL_PATH, methods: ['GET'], serve: (scope) => this.#serve(scope) };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#tunnels.values()].map((tunnel) => tunnel.close()));
  }

  #serve({ user, request, params }: RequestScope): ApiResponse {
    // In addition to authorization: a node may open only its own tunnel.
    const node = nodeIdentity(user);
    if (node === undefined) throw tunnelForbidden('only nodes open tunnels, each for itself');
    if (this.#deps.isServerName(node)) throw tunnelForbidden(`${node} is a name of the API server`);
    // Certificates of API servers and other kubelets contain addresses too.
    if (parseIp(node) !== undefined) throw tunnelForbidden(`${node} is an address: a tunnel needs a node with a name`);
    if (!request.wantsUpgrade || request.headers['upgrade'] !== TUNNEL_PROTOCOL)
      throw badRequest(`Upgrade: ${TUNNEL_PROTOCOL} required`);
    const id = params.get(CONNECTION);
    if (id === null) return { kind: 'upgrade', accept: (agent) => this.#keep(node, agent) };
    const client = this.#tunnels.get(node)?.take(id);
    if (client === undefined) throw noSuchPath();
    return { kind: 'upgrade', accept: (agent) => join(client, agent), dispose: () => client.destroy() };
  }

  /** Keeps one tunnel per node, the newest: an agent opens a new one when it has given up the old. */
  async #keep(node: string, agent: Duplex): Promise<void> {
    const tunnel = new NodeTunnel(this.#deps, agent);
    const before = this.#tunnels.get(node);
    this.#tunnels.set(node, tunnel);
    try {
      await before?.close();
      await agent.write(switchedHead(TUNNEL_PROTOCOL));
      await tunnel.open();
      await tunnel.run();
    } finally {
      await tunnel.close();
      if (this.#tunnels.get(node) === tunnel) this.#tunnels.delete(node);
    }
  }
}

async function join(client: Duplex, agent: Duplex): Promise<void> {
  try {
    await agent.write(switchedHead(TUNNEL_PROTOCOL));
  } catch {
    client.destroy();
    return;
  }
  joinStreams(client, agent);
  await agent.closed;
}

function tunnelForbidden(why: string): StatusError {
  return forbidden({ group: '', resource: '' }, '', why);
}

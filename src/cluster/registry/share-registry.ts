/** Connects a node's registry with those of the other nodes, which its informer lists. */
import type { Node } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Informer } from '../../client/informer.ts';
import { isNodeReady } from '../../component-helpers/nodes.ts';
import { urlHost } from '../../component-helpers/url-host.ts';
import type { HttpHandler } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';
import type { NodeConnection } from '../node/node-connection.ts';
import { withPeerReads } from './peer-access.ts';
import { PeerRegistries, type Peer } from './peer-registries.ts';
import type { RunningRegistry } from './run-registry.ts';

export interface SharingDeps {
  readonly platform: Platform;
  readonly connection: NodeConnection;
  readonly nodeName: string;
  readonly nodes: Pick<Informer<Node>, 'get' | 'list'>;
}

/** From now on pulls are resolved with the other nodes' registries. Returns the wrapper for the kubelet's handler. */
export function shareRegistry(
  { platform, connection, nodeName, nodes }: SharingDeps,
  registry: RunningRegistry,
): (kubelet: HttpHandler) => HttpHandler {
  const { net, clock } = platform;
  registry.share(
    new PeerRegistries({
      net,
      clock,
      log: platform.log.child('registry'),
      caPem: connection.caPem,
      peers: () => nodes.list().flatMap((node) => peerOf(node, nodeName)),
      certificate: () => connection.clientCertificate(),
    }),
  );
  return (kubelet) => withPeerReads(kubelet, registry.read, (name) => nodes.get({ name }) !== undefined);
}

/** Empty for this node itself, for a node that is not Ready and for one without a valid server address. */
export function peerOf(node: Stored<Node>, ownName: string): Peer[] {
  const { name } = node.metadata;
  const address = node.status?.addresses?.find(({ type }) => type === 'InternalIP')?.address;
  const port = node.status?.daemonEndpoints?.kubeletEndpoint?.Port;
  const host = urlHost(address ?? '');
  if (name === ownName || !isNodeReady(node) || host === undefined || !port) return [];
  return [{ nodeName: name, server: `https://${host}:${port}` }];
}

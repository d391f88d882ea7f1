/** Publishes the node's WireGuard key in its own Node object. */
import type { Node } from '../../../api/gen/core-v1.ts';
import { Nodes } from '../../../api/gen/resources.ts';
import type { Stored } from '../../../api/object.ts';
import { wireguardAnnotations, wireguardPublicKey } from '../../../component-helpers/wireguard-annotations.ts';
import type { RouteBackendDeps } from '../route-backend.ts';

/** Writes the key unless the Node has it; undefined removes it. */
export async function publishKey(
  { client, platform }: Pick<RouteBackendDeps, 'client' | 'platform'>,
  own: Stored<Node> | undefined,
  publicKey: string | undefined,
): Promise<void> {
  if (own === undefined || wireguardPublicKey(own) === publicKey) return;
  const annotations = wireguardAnnotations(publicKey);
  const patch = { metadata: { annotations } };
  await client.resource(Nodes).patch({ name: own.metadata.name }, { type: 'merge', patch });
  platform.log.info(
    publicKey === undefined ? 'the Node has no WireGuard key any more' : 'the Node has the WireGuard key',
    {
      publicKey,
    },
  );
}

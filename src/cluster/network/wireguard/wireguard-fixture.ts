/** Nodes that publish WireGuard keys. */
import { createHash } from 'node:crypto';
import type { Node } from '../../../api/gen/core-v1.ts';

/** A key that stands for the name. */
export const keyOf = (name: string): string => createHash('sha256').update(name).digest('base64');

/** Made at that second. */
export function wireguardNode(
  name: string,
  podCIDRs: string[],
  addresses: readonly string[],
  second = 0,
  key = keyOf(name),
): Node {
  return {
    metadata: {
      name,
      uid: name,
      creationTimestamp: `2026-01-01T00:00:0${second}Z`,
      annotations: {
        'flannel.alpha.coreos.com/backend-type': 'wireguard',
        'flannel.alpha.coreos.com/backend-data': JSON.stringify({ PublicKey: key }),
      },
    },
    spec: { podCIDRs },
    status: { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) },
  };
}

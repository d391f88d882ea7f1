/**
 * The annotations of a Node by which it publishes its WireGuard public key, those of flannel's wireguard backend. The
 * node's network writes and reads them; NodeRestriction keeps a node from publishing the key of another.
 */
import type { Node } from '../api/gen/core-v1.ts';

const BACKEND_TYPE_ANNOTATION = 'flannel.alpha.coreos.com/backend-type';
const BACKEND_DATA_ANNOTATION = 'flannel.alpha.coreos.com/backend-data';
const BACKEND_TYPE = 'wireguard';

/** 32 bytes in base64, in the one form that has no unused bits set: equal keys are equal texts. */
const KEY = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;

/** The annotations that publish a key, as a merge patch; those that remove it where there is none. */
export function wireguardAnnotations(publicKey: string | undefined): Readonly<Record<string, string | null>> {
  const [type, data] =
    publicKey === undefined ? [null, null] : [BACKEND_TYPE, JSON.stringify({ PublicKey: publicKey })];
  return { [BACKEND_TYPE_ANNOTATION]: type, [BACKEND_DATA_ANNOTATION]: data };
}

/** The key that a Node publishes; undefined where it has none, or none that is well formed. */
export function wireguardPublicKey(node: Pick<Node, 'metadata'> | undefined): string | undefined {
  const { annotations = {} } = node?.metadata ?? {};
  if (annotations[BACKEND_TYPE_ANNOTATION] !== BACKEND_TYPE) return undefined;
  return keyIn(annotations[BACKEND_DATA_ANNOTATION] ?? '');
}

function keyIn(data: string): string | undefined {
  try {
    const { PublicKey: key } = JSON.parse(data) as { readonly PublicKey?: unknown };
    return typeof key === 'string' && KEY.test(key) ? key : undefined;
  } catch {
    return undefined;
  }
}

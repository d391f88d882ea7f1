/**
 * What the names of users say of service accounts and nodes, and the node a service account's token is bound to. Upstream:
 * authentication/serviceaccount (SplitUsername, NodeNameKey) and the node names that authorizers and impersonation know.
 */
import { isDns1123Label, isDns1123Subdomain } from '../api/names.ts';
import type { Principal } from '../api/transport.ts';

const ACCOUNT = 'system:serviceaccount:';
const NODE = 'system:node:';

/** In the extra values of a service account's user, when its token is bound to a pod on a node, or to a node. */
export const NODE_NAME_KEY = 'authentication.kubernetes.io/node-name';

/** The service account of this name of a user; undefined: it is none. */
export function serviceAccountOf(userName: string): { namespace: string; name: string } | undefined {
  if (!userName.startsWith(ACCOUNT)) return undefined;
  const [namespace = '', name = '', ...more] = userName.slice(ACCOUNT.length).split(':');
  const fine = more.length === 0 && isDns1123Label(namespace).length === 0 && isDns1123Subdomain(name).length === 0;
  return fine ? { namespace, name } : undefined;
}

/** The node of this name of a user; undefined: it is none. */
export function nodeOf(userName: string): string | undefined {
  if (!userName.startsWith(NODE)) return undefined;
  const name = userName.slice(NODE.length);
  return isDns1123Subdomain(name).length === 0 ? name : undefined;
}

/** The groups that authentication gives every user of this name. */
export function impliedGroups(userName: string): readonly string[] {
  const account = serviceAccountOf(userName);
  if (account !== undefined)
    return ['system:serviceaccounts', `system:serviceaccounts:${account.namespace}`, 'system:authenticated'];
  if (userName === 'system:anonymous') return ['system:unauthenticated'];
  return nodeOf(userName) === undefined ? ['system:authenticated'] : ['system:nodes', 'system:authenticated'];
}

/** The node a service account speaks from, as its token proves; undefined: this is no such user. */
export function associatedNodeOf(user: Principal): string | undefined {
  const names = user.extra?.[NODE_NAME_KEY] ?? [];
  const [name = ''] = names;
  if (names.length !== 1 || serviceAccountOf(user.name) === undefined) return undefined;
  return isDns1123Subdomain(name).length === 0 ? name : undefined;
}

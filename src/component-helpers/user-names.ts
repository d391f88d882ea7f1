/**
 * Service accounts and nodes by their user names, and the node to which a service account's token is bound. Upstream:
 * authentication/serviceaccount (SplitUsername, NodeNameKey) and pkg/auth/nodeidentifier.
 */
import { isDns1123Label, isDns1123Subdomain } from '../api/names.ts';
import type { Principal } from '../api/transport.ts';

const ACCOUNT = 'system:serviceaccount:';
const NODE = 'system:node:';

/**
 * The key of the node's name in a service account's extra values, when its token is bound to a pod on a node or to a
 * node.
 */
export const NODE_NAME_KEY = 'authentication.kubernetes.io/node-name';

/** The service account of this user name; undefined for other users. */
export function serviceAccountOf(userName: string): { namespace: string; name: string } | undefined {
  if (!userName.startsWith(ACCOUNT)) return undefined;
  const [namespace = '', name = '', ...more] = userName.slice(ACCOUNT.length).split(':');
  const fine = more.length === 0 && isDns1123Label(namespace).length === 0 && isDns1123Subdomain(name).length === 0;
  return fine ? { namespace, name } : undefined;
}

/** The node of this user name; undefined for other users. */
export function nodeOf(userName: string): string | undefined {
  if (!userName.startsWith(NODE)) return undefined;
  const name = userName.slice(NODE.length);
  return isDns1123Subdomain(name).length === 0 ? name : undefined;
}

/**
 * The node that the user is: a member of the nodes group with a node's user name; otherwise undefined. Upstream:
 * pkg/auth/nodeidentifier.
 */
export function nodeIdentity({ name, groups }: Pick<Principal, 'name' | 'groups'>): string | undefined {
  const isNode = groups.includes('system:nodes') && name.startsWith(NODE) && name.length > NODE.length;
  return isNode ? name.slice(NODE.length) : undefined;
}

/** The groups that authentication adds to every user with this name. */
export function impliedGroups(userName: string): readonly string[] {
  const account = serviceAccountOf(userName);
  if (account !== undefined)
    return ['system:serviceaccounts', `system:serviceaccounts:${account.namespace}`, 'system:authenticated'];
  if (userName === 'system:anonymous') return ['system:unauthenticated'];
  return nodeOf(userName) === undefined ? ['system:authenticated'] : ['system:nodes', 'system:authenticated'];
}

/** The node of a service account, proved by its token; undefined for other users. */
export function associatedNodeOf(user: Principal): string | undefined {
  const names = user.extra?.[NODE_NAME_KEY] ?? [];
  const [name = ''] = names;
  if (names.length !== 1 || serviceAccountOf(user.name) === undefined) return undefined;
  return isDns1123Subdomain(name).length === 0 ? name : undefined;
}

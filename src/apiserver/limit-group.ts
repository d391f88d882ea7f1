/** The clients that share one limit on requests under way. */
import { associatedNodeOf, serviceAccountOf } from '../component-helpers/user-names.ts';
import type { Principal } from '../api/transport.ts';

/**
 * The name under which the user shares the limit. Service accounts of a namespace share one, since whoever may create
 * one may create many; their pods on different nodes do not. Undefined: the cluster's own users, whose certificates
 * all nodes may share.
 */
export function limitGroupOf(user: Principal): string | undefined {
  const account = serviceAccountOf(user.name);
  if (account !== undefined) return `accounts ${account.namespace} ${associatedNodeOf(user) ?? ''}`;
  const isOwn = user.name.startsWith('system:') && user.name !== 'system:anonymous';
  return isOwn ? undefined : `user ${user.name}`;
}

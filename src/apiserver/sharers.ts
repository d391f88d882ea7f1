/** The clients that share one limit on requests under way. */
import { associatedNodeOf, serviceAccountOf } from '../component-helpers/user-names.ts';
import type { Principal } from '../api/transport.ts';

/**
 * Service accounts of one namespace share one, since whoever may make one may make many; their pods on different nodes do
 * not. Undefined: users of the cluster's own, whose certificates all nodes may share.
 */
export function sharersOf(user: Principal): string | undefined {
  const account = serviceAccountOf(user.name);
  if (account !== undefined) return `accounts ${account.namespace} ${associatedNodeOf(user) ?? ''}`;
  const isOwn = user.name.startsWith('system:') && user.name !== 'system:anonymous';
  return isOwn ? undefined : `user ${user.name}`;
}

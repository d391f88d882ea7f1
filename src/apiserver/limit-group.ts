/** The clients that share one limit. */
import { associatedNodeOf, serviceAccountOf } from '../component-helpers/user-names.ts';
import type { Principal } from '../api/transport.ts';

/**
 * The name under which the user shares a limit on all nodes. Service accounts of a namespace share one, since whoever may
 * create one may create many.
 */
export function callerGroupOf({ name }: Principal): string {
  const account = serviceAccountOf(name);
  return account === undefined ? `user ${name}` : `accounts ${account.namespace}`;
}

/**
 * The name under which the user shares a limit on requests under way. Pods of service accounts on different nodes do not
 * share one. Undefined: the cluster's own users, whose certificates all nodes may share.
 */
export function limitGroupOf(user: Principal): string | undefined {
  const group = callerGroupOf(user);
  if (serviceAccountOf(user.name) !== undefined) return `${group} ${associatedNodeOf(user) ?? ''}`;
  const isOwn = user.name.startsWith('system:') && user.name !== 'system:anonymous';
  return isOwn ? undefined : group;
}

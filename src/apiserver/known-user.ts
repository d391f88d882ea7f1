/** What is for those alone who have shown who they are, whatever roles say. */
import type { RequestContext } from './request-context.ts';
import { attributesOf, forbiddenError } from './filters/authorization.ts';

/**
 * The past of an object, who changed it and what was refused say more than the object that everybody may get: `cluster-info`
 * is there for machines that join. Throws 403.
 */
export function refuseUnauthenticated({ user, info }: Pick<RequestContext, 'user' | 'info'>): void {
  if (!user.groups.includes('system:unauthenticated')) return;
  throw forbiddenError(attributesOf(user, info), 'what is told beside an object, and of its past, needs credentials');
}

/** Refuses unauthenticated requests, whatever roles allow. */
import type { RequestContext } from './request-context.ts';
import { attributesOf, forbiddenError } from './filters/authorization.ts';

/**
 * An object's history, authors and refused writes reveal more than the object, which may be public: everyone may get
 * `cluster-info`. Throws 403.
 */
export function refuseUnauthenticated({ user, info }: Pick<RequestContext, 'user' | 'info'>): void {
  if (!user.groups.includes('system:unauthenticated')) return;
  throw forbiddenError(attributesOf(user, info), 'what is told beside an object, and of its past, needs credentials');
}

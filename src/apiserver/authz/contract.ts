/** Contract of authorization. Upstream: authorizer.Authorizer, a union in order. */
import type { Principal } from '../../api/transport.ts';

/** What is asked for. Resource requests have `resource`, others `path`. */
export interface AuthorizationAttributes {
  readonly user: Principal;
  readonly verb: string;
  readonly isResourceRequest: boolean;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** The verdict; `reason` is shown to the user on denial. */
export interface AuthorizationDecision {
  readonly decision: 'allow' | 'deny' | 'noOpinion';
  readonly reason: string;
}

/** One authorizer. RBAC answers from memory, so without a promise. */
export interface Authorizer {
  authorize(attributes: AuthorizationAttributes): AuthorizationDecision | Promise<AuthorizationDecision>;
}

/** Contract of authorization. Upstream: authorizer.Authorizer, a union in order. */
import type { CheckAttributes } from '../../api/cel/libraries/authorizer.ts';
import type { Principal } from '../../api/transport.ts';

/** What is asked for. Resource requests have `resource`, others `path`. */
export interface AuthorizationAttributes extends Omit<CheckAttributes, 'user'> {
  readonly user: Principal;
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

/** Contract of authorization. Upstream: authorizer.Authorizer, a union in order. */
import type { CheckAttributes } from '../../api/cel/libraries/authorizer.ts';
import type { Principal } from '../../api/transport.ts';

/** The attributes of an access check. Resource requests have `resource`, others `path`. */
export interface AuthorizationAttributes extends Omit<CheckAttributes, 'user'> {
  readonly user: Principal;
}

/** The verdict; `reason` is shown to the user on denial. */
export interface AuthorizationDecision {
  readonly decision: 'allow' | 'deny' | 'noOpinion';
  readonly reason: string;
}

/** RBAC decides from memory, so without a promise. */
export interface Authorizer {
  authorize(attributes: AuthorizationAttributes): AuthorizationDecision | Promise<AuthorizationDecision>;
}

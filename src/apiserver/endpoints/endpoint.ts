/** The inputs that the verbs' handlers share: the resource they serve and the form they answer in. */
import type { AdmissionChain } from '../admission/admission-chain.ts';
import type { GenericStore } from '../generic-registry/generic-store.ts';
import type { RequestScope } from '../request-scope.ts';

/** One resource (and sub-resource) being served. */
export interface Endpoint {
  readonly store: GenericStore;
  /** '' for the resource itself. */
  readonly subresource: string;
}

/** A request at an endpoint. */
export interface Call extends Endpoint {
  readonly scope: RequestScope;
  readonly admission: AdmissionChain;
}

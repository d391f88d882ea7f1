/** What routes are made from: the objects of the cluster, as informers have them. */
import type { Secret, Service } from '../../api/gen/core-v1.ts';
import type { EndpointSlice } from '../../api/gen/discovery-v1.ts';

export interface ClusterView {
  service(namespace: string, name: string): Service | undefined;
  slicesOf(namespace: string, service: string): readonly EndpointSlice[];
  /** With nothing but its certificate and key. */
  secret(namespace: string, name: string): Secret | undefined;
}

/** Why a part of an object cannot be served: an event of the object. */
export interface RouteProblem {
  readonly reason: string;
  readonly message: string;
}

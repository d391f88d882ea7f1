/** The objects of the cluster that routes are built from, as informers provide them. */
import type { Secret, Service } from '../../api/gen/core-v1.ts';
import type { EndpointSlice } from '../../api/gen/discovery-v1.ts';

export interface ClusterView {
  service(namespace: string, name: string): Service | undefined;
  slicesOf(namespace: string, service: string): readonly EndpointSlice[];
  /** A secret reduced to its certificate and key. */
  secret(namespace: string, name: string): Secret | undefined;
}

/** The reason why a part of an object cannot be served; it becomes an event of the object. */
export interface RouteProblem {
  readonly reason:
    | 'BackendNotFound'
    | 'HostConflict'
    | 'InvalidAnnotation'
    | 'InvalidCertificate'
    | 'ResourceLimitExceeded'
    | 'SecretNotFound'
    | 'UnsupportedBackend';
  readonly message: string;
}

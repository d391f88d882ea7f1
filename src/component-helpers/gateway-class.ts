/** Names that the API server's bootstrap and the gateway share: the class whose ingresses Keelson serves itself. */
import type { IngressClass } from '../api/gen/networking-v1.ts';

/** The value of `spec.controller` in an IngressClass and of `spec.controllerName` in a GatewayClass. */
export const GATEWAY_CONTROLLER = 'keelson.dev/gateway';
/** The annotation of a Node with the TCP ports on which its gateway listens, separated by commas. */
export const GATEWAY_PORTS_ANNOTATION = 'keelson.dev/gateway-ports';

/** The path at which other nodes read the snapshots of routes. */
export const NODE_ROUTES_PATH = '/keelson/v1/node-routes';

/** The default ingress class of a new cluster. */
export function gatewayIngressClass(): IngressClass {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IngressClass',
    metadata: { name: 'keelson', annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } },
    spec: { controller: GATEWAY_CONTROLLER },
  };
}
